import Foundation

#if os(macOS) || os(Linux)
/// A child process that runs the bench's executable with other arguments; it ends when its input ends.
final class Child {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let name: String
    private var unread = Data()

    init(_ arguments: [String]) throws {
        name = arguments.joined(separator: " ")
        #if os(Linux)
        process.executableURL = URL(filePath: "/proc/self/exe")
        #else
        process.executableURL = Bundle.main.executableURL
        #endif
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Writes a line to the process.
    func send(_ line: Data) throws {
        try input.fileHandleForWriting.write(contentsOf: line + Data("\n".utf8))
    }

    /// Waits for a line from the process.
    func readLine() throws -> Data {
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread = Data(unread[(end + 1)...]) }
                return Data(unread[..<end])
            }
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw BenchFailure("'\(name)' ended before its time") }
            unread += more
        }
    }
}
#else
/// A child process, which this platform does not allow.
final class Child {
    init(_ arguments: [String]) throws {
        throw BenchFailure("the bench needs child processes: run it on macOS or Linux")
    }

    func send(_ line: Data) throws {}
    func readLine() throws -> Data { Data() }
}
#endif
