import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Loads send what other processes have saved", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CookieRefreshTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(date: .now)
    private let jar: CookieJar
    private let transport = ScriptedTransport { _ in .json("{}") }
    private let url = URL("http://shop.test/")

    init() throws {
        let folder = try TemporaryFolder()
        self.folder = folder
        jar = CookieJar(file: folder.file) { [weak folder] in recordIssue($0, while: folder) }
    }

    /// The `Cookie` header of a load.
    private func sent(_ cookies: CookieJar? = nil) async throws -> String? {
        let proxy = APIProxy(service: .sample(), transport: transport, cookies: cookies ?? jar, clock: clock)
        _ = try await proxy.send(HTTPRequest(.get, url))
        return transport.requests.last?.headers["Cookie"]
    }

    /// Changes the file as another process does: through a jar that this process does not know to have the same file.
    private func elsewhere(_ change: (CookieJar) throws -> Void) throws {
        let copy = try TemporaryFolder()
        try? FileManager.default.copyItem(at: folder.file, to: copy.file)
        let other = CookieJar(file: copy.file)
        try change(other)
        try other.flush()
        let (from, to) = (copy.file.path(percentEncoded: false), folder.file.path(percentEncoded: false))
        #expect(rename(from, to) == 0)
    }

    private func login(_ name: String) throws {
        try elsewhere { $0.store(setCookie: "\(name); Max-Age=1000", from: url) }
    }

    @Test func `The first load sends a login that was saved after the jar was opened`() async throws {
        try login("sid=1")
        #expect(try await sent() == "sid=1")
    }

    @Test func `A login and a logout are sent by loads that begin a second later`() async throws {
        #expect(try await sent() == nil)
        try login("sid=1")
        clock.advance(by: .milliseconds(999))
        #expect(try await sent() == nil, "the file was looked at less than a second ago")
        clock.advance(by: .milliseconds(1))
        #expect(try await sent() == "sid=1")
        try login("sid=2")
        clock.advance(by: .seconds(1))
        #expect(try await sent() == "sid=2")
        try elsewhere { $0.removeAll() }
        clock.advance(by: .seconds(1))
        #expect(try await sent() == nil)
        #expect(jar.cookies.isEmpty)
        try elsewhere { $0.store(setCookie: "sid=3", from: url) }
        clock.advance(by: .seconds(1))
        #expect(try await sent() == "sid=3")
    }

    @Test func `A response to a request from before the logout of another process changes nothing`() async throws {
        try login("sid=1")
        #expect(try await sent() == "sid=1")
        let before = CookieSession(jar, clock: clock)
        try elsewhere { $0.removeAll() }
        // It has sent the cookie of the session that had ended.
        let after = CookieSession(jar, clock: clock)
        clock.advance(by: .seconds(1))
        #expect(try await sent() == nil)
        for session in [before, after] {
            session.store(from: ["Set-Cookie": "sid=2; Max-Age=1000"], url: url, status: 200)
        }
        #expect(jar.cookies.isEmpty)
        CookieSession(jar, clock: clock).store(from: ["Set-Cookie": "sid=3; Max-Age=1000"], url: url, status: 200)
        #expect(try await sent() == "sid=3")
    }

    @Test func `A response that is stored for another login is not used`() async throws {
        let transport = ScriptedTransport { request in
            let body = Data((request.headers["Cookie"] ?? "none").utf8)
            return HTTPResponse(
                status: 200,
                headers: ["Cache-Control": "max-age=60", "Vary": "Cookie", "Content-Type": "text/plain"],
                body: body
            )
        }
        let service = APIService.sample { $0.envelope = nil }
        let cache = APICache(folder: folder.url.appending(path: "cache"))
        let proxy = APIProxy(service: service, transport: transport, cookies: jar, clock: clock, cache: cache)
        let load = { @MainActor in try await APIRequest<String>("/me", proxy: proxy).value() }
        try login("sid=1")
        #expect(try await [load(), load()] == ["sid=1", "sid=1"])
        #expect(transport.requests.count == 1)
        try login("sid=2")
        clock.advance(by: .seconds(1))
        #expect(try await load() == "sid=2")
        try login("sid=1")
        clock.advance(by: .seconds(1))
        #expect(try await load() == "sid=1")
        #expect(transport.requests.count == 2)
    }

    @Test func `Cookies that curl has removed or changed are sent as curl has left them`() async throws {
        let line = { (name: String, value: String) in "shop.test\tFALSE\t/\tFALSE\t0\t\(name)\t\(value)" }
        for (lines, header) in [
            ([line("a", "1"), line("b", "1")], "a=1; b=1"), ([line("a", "1"), line("b", "2")], "a=1; b=2"),
            ([line("b", "2")], "b=2"),
        ] {
            try Data(lines.joined(separator: "\n").utf8).write(to: folder.file, options: .atomic)
            clock.advance(by: .seconds(1))
            #expect(try await sent() == header)
        }
    }

    @Test func `What the jar has not saved yet remains, and is saved`() async throws {
        jar.store(setCookie: "saved=1", from: url)
        try jar.flush()
        // The jar saves by itself 200 ms after a change, which would be while the file is replaced.
        let lock = open("\(folder.file.path).lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(lock >= 0 && flock(lock, LOCK_EX) == 0)
        jar.store(setCookie: "own=1", from: url)
        jar.removeAll { $0.name == "saved" }
        try login("sid=1")
        #expect(try await sent() == "own=1; sid=1")
        close(lock)
        try jar.flush()
        #expect(Set(CookieJar(file: folder.file).cookies.map(\.name)) == ["own", "sid"])
    }

    @Test func `What a logout of the jar has ended does not come back with a file that still has it`() async throws {
        jar.store(setCookie: "sid=1", from: url)
        try jar.flush()
        // As a save that waits for the lock.
        jar.clearInMemory()
        #expect(try await sent() == nil)
        #expect(jar.cookies.isEmpty)
        try jar.flush()
        #expect(CookieJar(file: folder.file).cookies.isEmpty)
    }

    @Test func `Cookies that are in memory only remain`() async throws {
        let other = CookieJar(file: folder.file, sessionCookies: .drop)
        other.store(setCookie: "session=1", from: url)
        try login("sid=1")
        #expect(try await sent(other) == "session=1; sid=1")
    }

    @Test func `A file that is missing, or half written, changes nothing`() async throws {
        jar.store(setCookie: "sid=1", from: url)
        try jar.flush()
        let bytes = try Data(contentsOf: folder.file)
        for length in [0, 20, bytes.count / 2, bytes.count - 1] {
            try bytes.prefix(length).write(to: folder.file)
            if length == 0 { try FileManager.default.removeItem(at: folder.file) }
            clock.advance(by: .seconds(1))
            #expect(try await sent() == "sid=1")
        }
        try bytes.write(to: folder.file)
        try login("sid=2")
        clock.advance(by: .seconds(1))
        #expect(try await sent() == "sid=2")
    }

    @Test func `Of each head, as many Set-Cookie lines are read as a site may have cookies`() async throws {
        let lines = (0..<11_000).map { HTTPField("Set-Cookie", "c\($0)=1") }
        let jar = CookieJar()
        let transport = ScriptedTransport { _ in HTTPResponse(status: 200, headers: HTTPHeaders(lines)) }
        let proxy = APIProxy(service: .sample(), transport: transport, cookies: jar)
        _ = try await proxy.send(HTTPRequest(.get, url))
        #expect(jar.cookies.map(\.name) == (0..<180).map { "c\($0)" })
    }
}
