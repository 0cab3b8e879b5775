import Foundation

/// Compiles source text against the library that this test was built with, in a child `swiftc`.
struct TypeChecker {
    /// What the compiler said.
    struct Verdict {
        let succeeded: Bool
        let output: String
    }

    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let products = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()

    /// The compiler; `nil` where there is none, and then these tests are skipped.
    static let compiler: URL? = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .map { URL(filePath: String($0)).appending(path: "swiftc") }
        .first { FileManager.default.isExecutableFile(atPath: $0.path) }

    /// A file of the project.
    static func text(of path: String) throws -> String {
        String(decoding: try Data(contentsOf: root.appending(path: path)), as: UTF8.self)
    }

    /// Compiles `source` as a script, as far as its types.
    static func check(_ source: String) async throws -> Verdict {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "main.swift")
        try Data(source.utf8).write(to: file)
        return try await run(arguments(for: file), output: folder.url.appending(path: "output"))
    }

    private static func arguments(for file: URL) -> [String] {
        [
            "-typecheck", file.path, "-swift-version", "6", "-I", products.appending(path: "Modules").path,
            "-Xcc", "-fmodule-map-file=\(products.appending(path: "CurlRuntime.build/module.modulemap").path)",
            "-module-cache-path", products.appending(path: "ModuleCache").path,
        ]
    }

    private static func run(_ arguments: [String], output: URL) async throws -> Verdict {
        try Data().write(to: output)
        let process = Process()
        process.executableURL = compiler
        process.arguments = arguments
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = process.standardOutput
        // Waiting must not hold a thread that other tests need.
        let status = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        return Verdict(succeeded: status == 0, output: String(decoding: try Data(contentsOf: output), as: UTF8.self))
    }
}
