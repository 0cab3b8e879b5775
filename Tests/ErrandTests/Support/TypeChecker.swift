import Foundation
import Testing

/// Compiles source text against the library that this test was built with, in a child `swiftc`.
struct TypeChecker {
    /// What the compiler said.
    struct Verdict {
        let succeeded: Bool
        let output: String
    }

    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let products = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()

    /// The compiler; `nil` where there is none, and then these tests are skipped.
    static let compiler = TestProgram.path(of: "swiftc")

    /// A file of the project.
    static func text(of path: String) throws -> String {
        String(decoding: try Data(contentsOf: root.appending(path: path)), as: UTF8.self)
    }

    /// Compiles `source` as a script, as far as its types.
    static func check(_ source: String) async throws -> Verdict {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "main.swift")
        try Data(source.utf8).write(to: file)
        let compiler = try #require(compiler, "no swiftc")
        // It leaves folders behind in the one for temporary files.
        let ending = try await TestProgram(
            [compiler] + arguments(for: file),
            environment: ["TMPDIR": folder.url.path],
            deadline: .seconds(110)
        ).ending()
        return Verdict(succeeded: ending.status == 0, output: ending.output + ending.complaint)
    }

    private static func arguments(for file: URL) -> [String] {
        [
            "-typecheck", file.path, "-swift-version", "6", "-I", products.appending(path: "Modules").path,
            "-Xcc", "-fmodule-map-file=\(products.appending(path: "CurlRuntime.build/module.modulemap").path)",
            "-module-cache-path", products.appending(path: "ModuleCache").path,
        ]
    }
}
