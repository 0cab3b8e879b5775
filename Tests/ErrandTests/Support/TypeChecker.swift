import Foundation
import TestSupport
import Testing

/// Compiles source text against the library under test, in a child `swiftc`.
struct TypeChecker {
    /// The result of the compiler.
    struct Verdict {
        let succeeded: Bool
        let output: String

        /// The errors of a line of the source.
        func errors(inLine line: Int) -> String {
            output.split(separator: "\n").filter { $0.contains("main.swift:\(line):") && $0.contains(": error: ") }
                .joined(separator: "\n")
        }
    }

    /// The isolation of declarations that name none.
    enum Isolation: CaseIterable {
        /// None, the default of the compiler and of packages.
        case nonisolated
        /// The main actor, with the other settings of new app projects.
        case mainActor
    }

    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let products = Products.folder

    /// The path of the compiler; `nil` where it is missing, so that these tests are skipped.
    static let compiler = TestProgram.path(of: "swiftc")

    /// Returns the text of a file of the package.
    static func text(of path: String) throws -> String {
        String(decoding: try Data(contentsOf: root.appending(path: path)), as: UTF8.self)
    }

    /// Type-checks `source` as a script.
    static func check(_ source: String, isolation: Isolation = .nonisolated) async throws -> Verdict {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "main.swift")
        try Data(source.utf8).write(to: file)
        let compiler = try #require(compiler, "no swiftc")
        // The compiler does not remove its folders from the temporary folder.
        let ending = try await TestProgram(
            [compiler] + arguments(for: file) + isolation.arguments,
            environment: ["TMPDIR": folder.url.path],
            deadline: .seconds(110)
        ).ending()
        return Verdict(succeeded: ending.status == 0, output: ending.output + ending.standardError)
    }

    private static func arguments(for file: URL) -> [String] {
        [
            "-typecheck", file.path, "-swift-version", "6", "-I", products.appending(path: "Modules").path,
            "-module-cache-path", products.appending(path: "ModuleCache").path,
        ]
            + ["CurlRuntime", "CryptoRuntime"].flatMap { module in
                ["-Xcc", "-fmodule-map-file=\(products.appending(path: "\(module).build/module.modulemap").path)"]
            }
    }
}

extension TypeChecker.Isolation {
    fileprivate var arguments: [String] {
        switch self {
        case .nonisolated: []
        case .mainActor:
            ["-default-isolation", "MainActor"]
                + ["NonisolatedNonsendingByDefault", "InferIsolatedConformances", "MemberImportVisibility"]
                .flatMap { ["-enable-upcoming-feature", $0] }
        }
    }
}
