import Foundation
import TestSupport
import Testing

/// A server in Python, on a free port of 127.0.0.1: the bookshop with Django REST framework, or httpbin.
///
/// Each is started once in a process, and ends when the process ends in any way, because its standard input closes then.
// `process` and `input` are only retained.
nonisolated final class PythonServer: @unchecked Sendable {
    /// The error of a server that has ended instead of serving.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    // Not standardized, which would resolve the link that makes this the Python of its environment.
    private static let python = folder.appending(path: "../../.build/second-app/bin/python")
    private static let bookshop = Task { try await start("bookshop") }
    private static let httpbin = Task { try await start("httpbin") }

    /// Whether `.ci/run` has installed the servers.
    static let isInstalled: Bool = {
        let check = Process()
        check.executableURL = python
        check.arguments = ["-c", "import django, gunicorn, httpbin, rest_framework"]
        check.standardError = FileHandle.nullDevice
        guard (try? check.run()) != nil else { return false }
        check.waitUntilExit()
        return check.terminationStatus == 0
    }()

    /// Why tests are skipped.
    static let absence: Comment = ".ci/run has not installed Django, httpbin and gunicorn in .build/second-app"

    private let url: URL
    private let process: Process
    private let input: Pipe

    private init(url: URL, process: Process, input: Pipe) {
        (self.url, self.process, self.input) = (url, process, input)
    }

    /// The URL of the bookshop.
    static func bookshopURL() async throws -> URL { try await bookshop.value.url }

    /// The URL of httpbin.
    static func httpbinURL() async throws -> URL { try await httpbin.value.url }

    private static func start(_ name: String) async throws -> PythonServer {
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = python
        process.arguments = ["-B", folder.appending(path: "Server/serve.py").path, name]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        guard let port = Int(try await firstLine(of: output)), let url = URL(string: "http://127.0.0.1:\(port)") else {
            throw Failure(description: "\(name) has ended; standard error has its reason")
        }
        return PythonServer(url: url, process: process, input: input)
    }

    /// Waits for a line, or for the end of the output.
    private static func firstLine(of output: Pipe) async throws -> String {
        try await onSeparateThread {
            var line = Data()
            while line.last != UInt8(ascii: "\n"), case let data = output.fileHandleForReading.availableData,
                !data.isEmpty
            {
                line += data
            }
            return String(decoding: line.dropLast(), as: UTF8.self)
        }
    }
}
