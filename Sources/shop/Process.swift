import Dispatch
import Foundation

/// Makes the three standard streams safe to use.
enum StandardStreams {
    /// Ignores `SIGPIPE`, and opens streams that the caller has closed, so that no socket or file gets their numbers.
    static func secure() {
        signal(SIGPIPE, SIG_IGN)
        while true {
            let descriptor = open("/dev/null", O_RDWR)
            guard (0...2).contains(descriptor) else {
                close(descriptor)
                return
            }
        }
    }

    /// Writes a line to standard error.
    static func complain(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("shop: \(text.printable)\n".utf8))
    }
}

/// The signals that interrupt a program.
enum Interruption {
    /// Waits for one of the signals, after which the next one ends the program; `nil` when the task is cancelled.
    static func wait() async -> Int32? {
        let (signals, news) = AsyncStream.makeStream(of: Int32.self)
        let sources = [SIGINT, SIGTERM, SIGHUP].map { number in
            // The default action would end the process before the source receives the signal.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { news.yield(number) }
            source.setCancelHandler { signal(number, SIG_DFL) }
            source.resume()
            return source
        }
        defer { for source in sources { source.cancel() } }
        for await signal in signals { return signal }
        return nil
    }
}

/// A second start of the app's executable.
enum SecondStart {
    /// Runs `shop` with these arguments and the same standard streams to its end, and returns its exit status.
    static func run(_ arguments: [String]) async throws -> Int32 {
        #if os(macOS) || os(Linux)
        let process = process(arguments)
        return try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
        #else
        throw StepFailure("this platform allows no child processes")
        #endif
    }

    /// Runs `shop` with these arguments, silently, and kills it when `isEnough`; throws if it has ended before.
    @MainActor static func run(_ arguments: [String], killedWhen isEnough: () -> Bool) async throws {
        #if os(macOS) || os(Linux)
        let process = process(arguments)
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        defer {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        while !isEnough() {
            guard process.isRunning else { throw StepFailure("the process ended before it was killed") }
            try await Task.sleep(for: .milliseconds(1))
        }
        #else
        throw StepFailure("this platform allows no child processes")
        #endif
    }

    #if os(macOS) || os(Linux)
    private static func process(_ arguments: [String]) -> Process {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        return process
    }
    #endif

    private static var executable: URL? {
        #if os(Linux)
        URL(filePath: "/proc/self/exe")
        #else
        Bundle.main.executableURL
        #endif
    }
}

/// A folder for the files of one run.
struct TemporaryFolder {
    let url: URL

    /// Creates a folder that only the current user can read.
    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "errand-shop-\(UUID().uuidString)")
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true, attributes: attributes)
    }

    /// Returns the URL of a file with this name, which need not exist.
    func file(_ name: String) -> URL { url.appending(path: name) }

    /// Removes the folder and everything in it.
    func remove() {
        // Under another name, because a cache may still remove files in it, which Foundation takes for an error of its own.
        let removed = url.appendingPathExtension("removed")
        // More than once, because a load that has not ended may add a file meanwhile.
        for _ in 0..<10 where [url, removed].contains(where: { FileManager.default.fileExists(atPath: $0.path) }) {
            try? FileManager.default.moveItem(at: url, to: removed)
            try? FileManager.default.removeItem(at: removed)
        }
    }
}
