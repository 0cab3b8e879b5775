import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite(
    "HTTP cache suite",
    .limitedConcurrency,
    .hangLimit,
    .timeLimit(.minutes(10)),
    .enabled(if: SharedData.cacheTests.exists, "no ../shared/data/cache-tests")
)
struct CacheSuiteTests {
    /// The optimal cases that do not pass, and why.
    static let knownFailures = [
        "conditional-lm-fresh-no-lm": "without Last-Modified, Date is compared (RFC 9111 section 4.3.2)",
        "partial-store-partial-reuse-partial": "Content-Range names six bytes, and the body has five",
        "partial-store-partial-reuse-partial-absent": "the same body: the last byte is missing",
        "partial-store-partial-reuse-partial-suffix": "the same body: its last byte is another one",
        "partial-store-partial-complete": "without a validator, the rest may be one of another version",
    ]
    /// The required case that fails before the cache has a response, and why.
    static let refusedByTransport = [
        "headers-store-Transfer-Encoding": "a body of an unknown transfer coding is refused"
    ]

    /// The only case to run, whose requests and responses are printed.
    static let chosen = ProcessInfo.processInfo.environment["ERRAND_CACHE_TEST"]

    @Test("Each required and nearly each optimal case of the suite holds", .enabled(if: chosen == nil))
    func holds() async throws {
        let tests = try CacheSuite().tests.filter(\.isForPrivateCache)
        let report = CacheSuiteReport(tests, results: try await results(of: tests))
        try report.write()
        print(report)
        for test in tests where test.requirement == .required && !report.passes(test.id) {
            #expect(Self.refusedByTransport[test.id] != nil, "\(report.failure(of: test.id))")
        }
        #expect(report.count(.required, passing: true) == 145 - Self.refusedByTransport.count)
        for test in tests where test.requirement == .optimal && !report.passes(test.id) {
            #expect(Self.knownFailures[test.id] != nil, "\(report.failure(of: test.id))")
        }
        #expect(report.count(.optimal, passing: true) >= 90)
        for id in Self.knownFailures.keys.sorted() { #expect(!report.passes(id), "\(id) passes") }
    }

    @Test("The case that the environment names holds", .enabled(if: chosen != nil, "ERRAND_CACHE_TEST names no case"))
    func chosenHolds() async throws {
        let test = try #require(try CacheSuite().tests.first { $0.id == Self.chosen }, "no such case")
        let results = try await results(of: [test]) { print($0) }
        if case .failed(let failure) = results[test.id] { Issue.record("\(failure.name): \(failure.message)") }
    }

    /// Runs up to 16 cases at the same time.
    private func results(
        of tests: [CacheSuite.Test],
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> [String: CacheSuiteResult] {
        let (server, transport) = (try CacheSuiteServer(), SystemTransport())
        let permits = AsyncSemaphore(permits: 16)
        return try await withThrowingTaskGroup { group in
            for test in tests {
                group.addTask {
                    try await permits.withPermit {
                        let client = try await CacheSuiteClient(test, server: server, transport: transport, log: log)
                        return (test.id, await client.result())
                    }
                }
            }
            var results: [String: CacheSuiteResult] = [:]
            for try await (id, result) in group { results[id] = result }
            return results
        }
    }
}

/// The results of the suite, of which a case passes only if those pass on which it depends.
struct CacheSuiteReport: CustomStringConvertible {
    private let tests: [String: CacheSuite.Test]
    private let results: [String: CacheSuiteResult]

    init(_ tests: [CacheSuite.Test], results: [String: CacheSuiteResult]) {
        self.tests = Dictionary(tests.map { ($0.id, $0) }) { first, _ in first }
        self.results = results
    }

    func passes(_ id: String) -> Bool {
        guard case .passed = results[id], let test = tests[id] else { return false }
        return (test.dependsOn ?? []).allSatisfy(passes)
    }

    /// Why a case does not pass.
    func failure(of id: String) -> String {
        switch results[id] {
        case nil: return "\(id): not run"
        case .failed(let failure): return "\(id): \(failure.name): \(failure.message)"
        case .passed:
            let others = (tests[id]?.dependsOn ?? []).filter { !passes($0) }
            return "\(id): depends on " + others.joined(separator: ", ")
        }
    }

    /// `nil` counts all cases of a kind.
    func count(_ kind: CacheSuite.Test.Kind, passing: Bool? = nil) -> Int {
        tests.values.count { $0.requirement == kind && (passing == nil || passes($0.id) == passing) }
    }

    /// Of the private cache's cases, for the bench.
    var summary: [String: Int] {
        ["required": count(.required, passing: true), "optimal": count(.optimal, passing: true)]
    }

    var description: String {
        let required = "required \(count(.required, passing: true))/\(count(.required))"
        let optimal = "optimal \(count(.optimal, passing: true))/\(count(.optimal))"
        return "cache-tests: \(required), \(optimal), checks \(count(.check, passing: true)) yes"
    }

    /// Writes the results without dependencies, as the suite's own client does.
    func write() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let folder = URL(filePath: #filePath).appending(path: "../../../../.build").standardizedFileURL
        try encoder.encode(results).write(to: folder.appending(path: "cache-tests-errand.json"))
        try encoder.encode(summary).write(to: folder.appending(path: "cache-tests-errand-summary.json"))
    }
}
