import Foundation
import Testing

@Suite("The bench's command line", .takesTurns, .timeLimit(.minutes(1)))
struct BenchTests {
    @Test func `Help names every row`() async throws {
        let ending = try await bench("--help")
        #expect(ending.status == 0)
        for row in [
            "layer", "proxy", "floor", "urlsession", "upload", "cancel", "idle", "soak", "cookies", "relogin", "race",
            "queue", "load", "paging",
        ] {
            #expect(ending.output.contains("\n  \(row)"))
        }
    }

    @Test(arguments: [["--nonsense"], ["lair"], ["--rounds"], ["--rounds", "0"], ["--concurrency", "1,x"], ["work"]])
    func `Wrong arguments are one line and status 64`(arguments: [String]) async throws {
        let ending = try await bench(arguments)
        #expect(ending.status == 64)
        #expect(ending.output.isEmpty)
        #expect(ending.complaint.hasPrefix("errand-bench: "))
        #expect(ending.complaint.split(separator: "\n").count == 1)
    }

    @Test func `A row runs alone and is one object of JSON for each concurrency`() async throws {
        let folder = try TemporaryFolder()
        let plot = folder.url.appending(path: "plot.svg")
        let ending = try await bench("layer", "--json", "--quick", "--rounds", "1", "--plot", plot.path)
        #expect(ending.status == 0, "\(ending.complaint)")
        let rows = try objects(ending.output)
        #expect(rows.map { $0["row"] as? String } == ["layer", "layer"])
        #expect(rows.map { $0["concurrency"] as? Int } == [1, 16])
        for field in ["requests_per_s", "cpu_us_per_request", "peak_rss_mb", "rss_growth_mb"] {
            #expect(rows.allSatisfy { $0[field] is NSNumber }, "\(field)")
        }
        let drawing = try String(contentsOf: plot, encoding: .utf8)
        #expect(drawing.ranges(of: "<polyline").count == 2)
        // A dot at each concurrency of each panel, and one in the legend.
        #expect(drawing.ranges(of: "<circle").count == 5)
        #expect(!drawing.contains("nan") && !drawing.contains("inf"))
    }

    @Test(.fault(69)) func `The rows of races find what they are to find`() async throws {
        let ending = try await bench("relogin", "race", "queue", "load", "--json", "--quick")
        #expect(ending.status == 0, "\(ending.complaint)")
        let fields = Dictionary(
            uniqueKeysWithValues: try objects(ending.output).map { ($0["row"] as? String ?? "", $0) }
        )
        let expected: [(String, String, Double)] = [
            ("relogin", "logins", 1), ("relogin", "replays", 1_000), ("relogin", "endings", 1_000),
            ("relogin", "failures", 0), ("race", "late", 0), ("race", "lost", 0), ("race", "requests", 2_000),
            ("queue", "queued", 2_000), ("queue", "late", 0), ("load", "loads", 10_000),
        ]
        for (row, field, value) in expected { #expect(number(fields[row]?[field]) == value, "\(row) \(field)") }
        for (row, field) in [("relogin", "p99_added_ms"), ("queue", "bytes_each"), ("queue", "cancel_all_s")] {
            #expect(number(fields[row]?[field]).map { $0 >= 0 } == true, "\(row) \(field)")
        }
    }

    private func objects(_ lines: String) throws -> [[String: Any]] {
        try lines.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
    }

    private func number(_ value: Any?) -> Double? { (value as? NSNumber)?.doubleValue }

    @Test func `Paging tells its times, its memory and what it costs to show no item twice`() async throws {
        let ending = try await bench("paging", "--json", "--quick")
        #expect(ending.status == 0, "\(ending.complaint)")
        let rows = try objects(ending.output)
        #expect(rows.map { $0["row"] as? String } == ["paging", "paging-sockets"])
        for field in ["pages", "first_tenth_us", "last_tenth_us", "rss_mb", "items_mb", "dedup_cost"] {
            #expect(rows.allSatisfy { $0[field] is NSNumber }, "\(field)")
        }
        #expect(rows.allSatisfy { number($0["stack_growth_bytes"]).map { $0 < 4_096 } == true }, "for 1,000 pages")
    }

    private func bench(_ arguments: String...) async throws -> TestProgram.Ending { try await bench(arguments) }

    private func bench(_ arguments: [String]) async throws -> TestProgram.Ending {
        try await TestProgram.run([TestProgram.built("errand-bench")] + arguments)
    }
}
