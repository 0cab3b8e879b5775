import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Reports of problems with a cookie file", .timeLimit(.minutes(10)))
struct CookieFileErrorReporterTests {
    private final class Owner: CookieJarOwner {
        let problems = CookieFileErrorRecorder()
        var onError: (@Sendable (any Error) -> Void)? {
            { [problems] error in if let error = error as? CookieFileError { problems.report(error) } }
        }
    }

    private let problems = CookieFileErrorRecorder()

    private func error(_ kind: CookieFileError.Kind) -> CookieFileError {
        CookieFileError(kind, file: URL(filePath: "/cookies.txt"), reason: "a reason")
    }

    @Test func `A kind is reported again only after it was resolved`() {
        let reporter = CookieFileErrorReporter(hook: problems.report)
        for _ in 0..<3 {
            reporter.record([error(.locked)])
            reporter.report()
        }
        #expect(problems.kinds == [.locked])
        reporter.record([], resolved: [.locked])
        reporter.record([error(.locked)])
        reporter.report()
        #expect(problems.kinds == [.locked, .locked])
    }

    @Test func `Each file that is set aside is reported`() {
        let reporter = CookieFileErrorReporter(hook: problems.report)
        reporter.record([error(.setAside), error(.cannotWrite)])
        reporter.record([error(.setAside), error(.cannotWrite)])
        reporter.report()
        #expect(problems.kinds == [.setAside, .cannotWrite, .setAside])
    }

    @Test func `CookieFileErrorRecorder are kept until there is an owner, and reported to the first one`() {
        let reporter = CookieFileErrorReporter(hook: nil)
        reporter.record([error(.cannotRead)])
        reporter.report()
        let (first, second) = (Owner(), Owner())
        reporter.attach(to: first)
        reporter.attach(to: second)
        #expect(first.problems.kinds == [.cannotRead])
        reporter.record([error(.locked)])
        reporter.report()
        #expect(first.problems.kinds == [.cannotRead, .locked])
        #expect(second.problems.kinds.isEmpty)
    }

    @Test func `An owner is not retained`() {
        let reporter = CookieFileErrorReporter(hook: nil)
        reporter.attach(to: Owner())
        let owner = Owner()
        reporter.attach(to: owner)
        reporter.record([error(.locked)])
        reporter.report()
        #expect(owner.problems.kinds == [.locked])
    }
}
