import Foundation

@testable import Errand

/// Uses a cookie file as a test says, step by step: in a process of its own, or through a jar in this one.
protocol CookiePlayer {
    /// Stores one `Set-Cookie` line that an answer from `url` brought at `date`.
    func store(_ line: String, from url: URL, at date: Date) throws
    /// Saves, and returns when the file has everything.
    func flush() throws
    /// `name=value` of each cookie in memory.
    func pairs() throws -> Set<String>
}

/// A jar of this process.
struct LocalPlayer: CookiePlayer {
    let jar: CookieJar

    func store(_ line: String, from url: URL, at date: Date) { jar.store(setCookie: line, from: url, at: date) }

    func flush() {
        // On a busy machine another process may hold the lock for longer than a save waits.
        while (try? jar.flush()) == nil {}
    }

    func pairs() -> Set<String> { Set(jar.cookies.map { "\($0.name)=\($0.value)" }) }
}

/// A jar of another process, which ends with this object.
final class RemotePlayer: CookiePlayer {
    private let program: TestProgram
    private let output = Pipe()
    private let input: FileHandle
    private let folder: TemporaryFolder

    /// Returns when the other process has opened its jar.
    init(of file: URL) throws {
        folder = try TemporaryFolder()
        let pipe = folder.url.appending(path: "commands").path(percentEncoded: false)
        guard mkfifo(pipe, 0o600) == 0 else { throw SystemError.last("mkfifo") }
        // For reading too, so that opening does not wait for the other process.
        let descriptor = open(pipe, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError.last("open") }
        input = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        program = try TestProgram(
            [CookieProbe.path, "play", file.path(percentEncoded: false), pipe],
            output: output
        )
        _ = try output.line(behind: "opened")
    }

    func store(_ line: String, from url: URL, at date: Date) throws {
        let microseconds = CookieStamp(date).microseconds
        try send("store\t\(microseconds)\t\(url.absoluteString)\t\(line)")
    }

    func flush() throws { try send("flush") }

    func clear() throws { try send("clear") }

    func pairs() throws -> Set<String> { Set(try send("cookies").split(separator: " ").map(String.init)) }

    @discardableResult
    private func send(_ command: String) throws -> String {
        try input.write(contentsOf: Data("\(command)\n".utf8))
        return try output.line(behind: "done")
    }
}
