import Foundation

@testable import Errand
@testable import ErrandTestSupport

/// A jar that a test uses, in this process or in another one.
protocol CookieFileClient: AnyObject {
    /// Stores the value of a `Set-Cookie` header field that `url` sent at `date`.
    func store(_ line: String, from url: URL, at date: Date) throws
    /// Saves, and returns when all changes are in the file.
    func flush() throws
    /// `name=value` of each cookie in memory.
    func pairs() throws -> Set<String>
}

/// A jar of this process.
final class LocalCookieFileClient: CookieFileClient {
    let jar: CookieJar

    init(jar: CookieJar) {
        self.jar = jar
    }

    func store(_ line: String, from url: URL, at date: Date) { jar.store(setCookie: line, from: url, at: date) }

    func flush() {
        // On a busy machine another process may hold the lock for longer than a save waits.
        while (try? jar.flush()) == nil {}
    }

    func pairs() -> Set<String> { Set(jar.cookies.map { "\($0.name)=\($0.value)" }) }
}

/// A jar of another process, which is killed when this object is released.
final class RemoteCookieFileClient: CookieFileClient {
    private let program: TestProgram
    private let output = Pipe()
    private let input: FileHandle
    private let folder: TemporaryFolder

    /// Returns when the other process has opened its jar.
    init(of file: URL) throws {
        folder = try TemporaryFolder()
        let pipe = folder.url.appending(path: "commands").path(percentEncoded: false)
        guard mkfifo(pipe, 0o600) == 0 else { throw SystemError.last("mkfifo") }
        // Opened for reading as well, because otherwise this call waits for the other process.
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
        let microseconds = CookieTimestamp(date).microseconds
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
