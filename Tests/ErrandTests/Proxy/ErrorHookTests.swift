import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// The errors of cookie jars that a proxy's error hook receives.
@Suite("The error hook", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct ErrorHookTests {
    private let folder: TemporaryFolder
    private let problems = CookieFileErrorRecorder()
    private let url = URL("http://shop.test/")

    init() throws {
        folder = try TemporaryFolder()
    }

    private func proxy(_ jar: CookieJar) -> APIProxy {
        APIProxy(service: .sample(), transport: ScriptedTransport(), cookies: jar)
    }

    private var place: URL { folder.url.appending(path: "folder") }

    /// A jar whose file cannot be written while its folder is a file.
    private func jarWithoutPlace() throws -> CookieJar {
        let jar = CookieJar(file: place.appending(path: "cookies.txt"))
        try takePlace()
        return jar
    }

    private func takePlace() throws { try Data().write(to: place) }
    private func makeRoom() throws { try FileManager.default.removeItem(at: place) }

    @Test func `A damaged file that was read before is reported once, when the hook is set`() throws {
        try Data("damage".utf8).write(to: folder.file)
        let proxy = proxy(CookieJar(file: folder.file))
        proxy.onError = problems.report
        #expect(problems.kinds == [.setAside])
        proxy.onError = problems.report
        proxy.cookies.store(setCookie: "a=1", from: url)
        try proxy.cookies.flush()
        #expect(problems.kinds == [.setAside])
    }

    @Test func `A file that cannot be written is reported once, and again after a success`() throws {
        let proxy = proxy(try jarWithoutPlace())
        proxy.onError = problems.report
        proxy.cookies.store(setCookie: "a=1", from: url)
        for _ in 0..<3 { #expect(throws: CookieFileError.self) { try proxy.cookies.flush() } }
        #expect(problems.kinds == [.cannotWrite])
        try makeRoom()
        try proxy.cookies.flush()
        #expect(CookieJar(file: place.appending(path: "cookies.txt")).cookies.count == 1)
        try makeRoom()
        try takePlace()
        proxy.cookies.store(setCookie: "b=1", from: url)
        #expect(throws: CookieFileError.self) { try proxy.cookies.flush() }
        #expect(problems.kinds == [.cannotWrite, .cannotWrite])
    }

    @Test func `The hook receives the errors of a new jar and of a service's jar`() async throws {
        try Data("damage".utf8).write(to: folder.file)
        let other = folder.url.appending(path: "other.txt")
        try Data("damage".utf8).write(to: other)
        let proxy = proxy(CookieJar())
        proxy.onError = problems.report
        proxy.switchCookies(to: CookieJar(file: folder.file))
        #expect(problems.kinds == [.setAside])
        proxy.defaultService?.cookies = CookieJar(file: other)
        _ = try await proxy.send(HTTPRequest(.get, url))
        #expect(problems.kinds == [.setAside, .setAside])
    }

    @Test func `A jar with a separate hook reports only to that hook`() throws {
        try Data("damage".utf8).write(to: folder.file)
        let own = CookieFileErrorRecorder()
        let proxy = proxy(CookieJar(file: folder.file, onError: own.report))
        proxy.onError = problems.report
        #expect(own.kinds == [.setAside])
        #expect(problems.kinds.isEmpty)
    }

    @Test func `A jar of two proxies reports to the first that exists`() throws {
        let jar = try jarWithoutPlace()
        let other = CookieFileErrorRecorder()
        var first: APIProxy? = proxy(jar)
        first?.onError = problems.report
        jar.store(setCookie: "a=1", from: url)
        try? jar.flush()
        first = nil
        let second = proxy(jar)
        second.onError = other.report
        try makeRoom()
        try jar.flush()
        try makeRoom()
        try takePlace()
        jar.store(setCookie: "b=1", from: url)
        try? jar.flush()
        #expect(problems.kinds == [.cannotWrite])
        #expect(other.kinds == [.cannotWrite])
    }

    @Test func `The hook may save and sign out, also during an automatic save`() async throws {
        let proxy = proxy(try jarWithoutPlace())
        let isReported = Latch()
        proxy.onError = { [weak proxy] _ in
            try? proxy?.cookies.flush()
            proxy?.cookies.removeAll()
            isReported.open()
        }
        proxy.cookies.store(setCookie: "a=1", from: url)
        try await isReported.wait()
        #expect(proxy.cookies.cookies.isEmpty)
    }
}

extension CookieFileErrorRecorder {
    @Sendable func report(_ error: any Error) {
        guard let error = error as? CookieFileError else { preconditionFailure("\(error) is no problem of a jar") }
        report(error)
    }
}
