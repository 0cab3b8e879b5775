// The bench is a program, which other platforms cannot start.
#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import errand_bench

@testable import ErrandTestSupport

@Suite("The bench's command line", .limitedConcurrency, .timeLimit(.minutes(10)))
struct BenchTests {
    @Test func `Help names every row`() async throws {
        let ending = try await bench("--help")
        #expect(ending.status == 0)
        let words = Set(ending.output.split { !$0.isLetter && $0 != "-" })
        for row in Row.allCases {
            let isMember = row.rawValue.contains("-")
            #expect(isMember ? words.contains(row.rawValue[...]) : ending.output.contains("\n  \(row.rawValue) "))
        }
    }

    @Test(arguments: [["--nonsense"], ["lair"], ["--rounds"], ["--rounds", "0"], ["--concurrency", "1,x"], ["work"]])
    func `Wrong arguments cause one line of output and status 64`(arguments: [String]) async throws {
        let ending = try await bench(arguments)
        #expect(ending.status == 64)
        #expect(ending.output.isEmpty)
        #expect(ending.standardError.hasPrefix("errand-bench: "))
        #expect(ending.standardError.split(separator: "\n").count == 1)
    }

    @Test func `A single row is reported as one JSON object for each concurrency`() async throws {
        let folder = try TemporaryFolder()
        let plot = folder.url.appending(path: "plot.svg")
        let ending = try await bench("layer", "--json", "--quick", "--rounds", "1", "--plot", plot.path)
        #expect(ending.status == 0, "\(ending.standardError)")
        let rows = try objects(ending.output)
        #expect(rows.map { $0["row"] as? String } == ["layer", "layer"])
        #expect(rows.map { $0["concurrency"] as? Int } == [1, 16])
        for field in ["requests_per_s", "cpu_us_per_request", "peak_rss_mb", "rss_growth_mb"] {
            #expect(rows.allSatisfy { $0[field] is NSNumber }, "\(field)")
        }
        let drawing = try String(contentsOf: plot, encoding: .utf8)
        #expect(drawing.ranges(of: "<polyline").count == 2)
        // One dot for each concurrency in each panel, and one in the legend.
        #expect(drawing.ranges(of: "<circle").count == 5)
        #expect(!drawing.contains("nan") && !drawing.contains("inf"))
    }

    @Test(.fault(37), .fault(69)) func `The rows of races report the expected counts`() async throws {
        let rows = try await rows("relogin", "race", "queue", "load", "--quick")
        expectOneLogin(rows["relogin"], for: 200)
        expect(rows["race"], ["requests": 1_000, "late": 0, "lost": 0])
        expectSmallQueue(rows["queue"], of: 2_000)
        expect(rows["load"], ["loads": 1_000])
    }

    @Test func `The rows of transfers report the expected counts`() async throws {
        let rows = try await rows("events", "resume", "cache", "--quick")
        expect(rows["events"], ["open_streams": 20])
        #expect(number(rows["events"]?["us_per_event"]).map { $0 > 0 } == true)
        expect(rows["resume"], ["kills": 2, "identical": 2])
        expect(rows["cache"], ["kills": 2, "kill_corrupt": 0])
        #expect(number(rows["cache"]?["hit_us"]).map { $0 > 0 } == true)
        #expect(number(rows["resume"]?["resent_mb_max"]).map { $0 <= 1 } == true)
    }

    @Test(.fault(37), .fault(69), .enabled(if: CookieProbe.runsSlowTests, "ERRAND_SLOW_TESTS is not 1"))
    func `The rows of races at full size stay within their times`() async throws {
        let rows = try await rows("relogin", "queue")
        expectOneLogin(rows["relogin"], for: 10_000)
        #expect(number(rows["relogin"]?["seconds"]).map { $0 < 10 } == true)
        expectSmallQueue(rows["queue"], of: 200_000)
        // The bench has the same optimization as this test; an unoptimized build takes about five times as long.
        let limit = _isDebugAssertConfiguration() ? 10.0 : 2
        #expect(number(rows["queue"]?["cancel_all_s"]).map { $0 < limit } == true)
    }

    /// All have succeeded and each was sent once more, because no more were sent in total.
    private func expectOneLogin(_ row: [String: Any]?, for loads: Double) {
        expect(row, ["requests": loads, "logins": 1, "replays": loads, "endings": loads, "failures": 0])
    }

    /// One load in addition to the waiting ones has been sent, and is cancelled with them.
    private func expectSmallQueue(_ row: [String: Any]?, of loads: Double) {
        expect(row, ["queued": loads, "cancelled": loads + 1, "late": 0])
        #expect(number(row?["bytes_each"]).map { $0 < 4_096 } == true, "\(row?["bytes_each"] ?? "none")")
    }

    private func expect(_ row: [String: Any]?, _ fields: [String: Double]) {
        for (field, value) in fields { #expect(number(row?[field]) == value, "\(field)") }
    }

    private func rows(_ arguments: String...) async throws -> [String: [String: Any]] {
        let ending = try await bench(arguments + ["--json"])
        #expect(ending.status == 0, "\(ending.standardError)")
        return Dictionary(uniqueKeysWithValues: try objects(ending.output).map { ($0["row"] as? String ?? "", $0) })
    }

    private func objects(_ lines: String) throws -> [[String: Any]] {
        try lines.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
    }

    private func number(_ value: Any?) -> Double? { (value as? NSNumber)?.doubleValue }

    @Test func `Paging reports its times, its memory and the cost of showing no item twice`() async throws {
        let ending = try await bench("paging", "--json", "--quick")
        #expect(ending.status == 0, "\(ending.standardError)")
        let rows = try objects(ending.output)
        #expect(rows.map { $0["row"] as? String } == ["paging", "paging-sockets"])
        for field in ["pages", "first_tenth_us", "last_tenth_us", "rss_mb", "items_mb", "dedup_cost"] {
            #expect(rows.allSatisfy { $0[field] is NSNumber }, "\(field)")
        }
        #expect(rows.allSatisfy { number($0["stack_growth_bytes"]).map { $0 < 4_096 } == true }, "for 1,000 pages")
    }

    @Test(.fault(84)) func `JSON of unknown shape costs little more than JSONSerialization, at every depth`()
        async throws
    {
        let row = try #require(try await rows("json", "--quick")["json"])
        #expect(number(row["json_mb"]).map { $0 > 0.1 } == true)
        // The bench has the same optimization as this test; an unoptimized parser takes many times as long.
        let limit = _isDebugAssertConfiguration() ? 40.0 : 2
        for field in ["value_ratio", "response_ratio", "member_ratio", "deep_ratio"] {
            #expect(number(row[field]).map { $0 < limit } == true, "\(field)")
        }
        for field in ["lenient_ratio", "converted_ratio"] {
            #expect(number(row[field]).map { $0 < limit * 1.5 } == true, "\(field)")
        }
    }

    @Test func `Adapters report their costs, and loads with an expired key cause one exchange`() async throws {
        let row = try #require(try await rows("adapters", "--quick")["adapters"])
        expect(row, ["requests": 200, "exchanges": 1, "replays": 200, "endings": 200, "failures": 0])
        // A signature that does nothing takes less than 0.5 µs.
        for field in ["sign_us", "sign_params_us", "sign_aws_us", "seal_us", "none_us", "adapted_us"] {
            #expect(number(row[field]).map { $0 > 0.5 } == true, "\(field)")
        }
    }

    @Test func `Monitors report their costs, and every load has its events and one ending`() async throws {
        let row = try #require(try await rows("monitors", "--quick")["monitors"])
        expect(row, ["loads": 1_000, "terminal": 1_000, "leaks": 0])
        // Began, started, request made, responded and ended; most are queued as well.
        #expect(number(row["events"]).map { (5_000...6_000).contains($0) } == true)
        for field in ["off_us", "count_us", "log_us", "har_us"] { #expect(row[field] is NSNumber, "\(field)") }
    }

    private func bench(_ arguments: String...) async throws -> TestProgram.Ending { try await bench(arguments) }

    private func bench(_ arguments: [String]) async throws -> TestProgram.Ending {
        try await TestProgram.run([TestProgram.built("errand-bench")] + arguments, deadline: .seconds(240))
    }
}
#endif
