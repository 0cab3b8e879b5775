import ErrandInspector
import Foundation
import Testing
import TestSupport

@testable import Errand

@Suite(
    "Reports in a browser",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: Program.browser != nil, "Chromium is not here"),
    .enabled(if: Program.python != nil, "Python is not here")
)
struct BrowserTests {
    /// What the browser has found in a report.
    private struct Found: Decodable {
        let rows: Int
        let hacked: Int?
        let elements: Int
        /// Roles with accessible names.
        let names: [[String]]
        let contrast: [String: Double]
        let focused: String?
        let matching: Int?
        let shown: String?
        let failed: Int?
        let opened: Bool?
        let openNames: [[String]]?
        let fits: [Bool]
        let problems: [String]

        func names(_ role: String) -> [String] { names.filter { $0[0] == role }.map { $0[1] } }
    }

    /// Opens the report of a recorder; `ERRAND_PICTURES` names a folder that keeps the pictures.
    private func open(_ recorder: HARRecorder, as name: String, isPlain: Bool = false) async throws -> Found {
        let folder = try TemporaryFolder()
        try recorder.writeReport(to: folder.file("report.html"))
        var pictures = folder.url
        if let kept = ProcessInfo.processInfo.environment["ERRAND_PICTURES"] {
            pictures = URL(filePath: kept).appending(path: name)
            try FileManager.default.createDirectory(at: pictures, withIntermediateDirectories: true)
            try recorder.writeReport(to: pictures.appending(path: "report.html"))
        }
        let program = Program.folder.appending(path: "open_report.py").path
        let command =
            ["python3", program, Program.browser ?? "", folder.file("report.html").path, pictures.path]
            + (isPlain ? ["plain"] : [])
        let ending = try await Program.run(command)
        try #require(ending.status == 0)
        for picture in ["light", "dark", "phone"] {
            #expect(try Data(contentsOf: pictures.appending(path: "\(picture).png")).count > 5_000)
        }
        return try JSONDecoder().decode(Found.self, from: Data(ending.output.utf8))
    }

    @Test(
        """
        A report has no console error, loads nothing, and fits the window in light, dark and on a phone; exchanges, filters \
        and details are found by role and accessible name, and operated with the keyboard
        """
    )
    func session() async throws {
        let session = Session()
        session.visitShop()
        let found = try await open(session.recorder, as: "session")
        try expectAccessibility(found)
        #expect(found.problems == [])
        #expect(found.fits == Array(repeating: true, count: 6))
        // The page's own script and style.
        #expect(found.elements == 2)
        #expect(found.rows == 15)
        // WCAG 2.2 level AA.
        #expect(found.contrast.allSatisfy { $0.value >= 4.5 }, "\(found.contrast)")
    }

    private func expectAccessibility(_ found: Found) throws {
        #expect(found.names("heading").contains("Exchanges"))
        for role in ["banner", "main", "search", "contentinfo"] { #expect(!found.names(role).isEmpty, "\(role)") }
        #expect(found.names("searchbox") == ["Filter"])
        #expect(found.names("button").contains("Failed 4"))
        let rows = found.names("DisclosureTriangle")
        #expect(rows.count == 15)
        #expect(rows.contains { $0.contains("POST") && $0.contains("/account/login") && $0.contains("200") })
        #expect(rows.contains { $0.contains("try 2 after retry") })
        #expect(rows.contains { $0.contains("timeout") })
        #expect(rows.contains { $0.contains("/orders/{id} not sent") && $0.contains("invalidRequest") })
        #expect(rows.contains { $0.contains("cancelled") && $0.contains("2 loads") })

        #expect(found.focused == "text")
        #expect((found.matching, found.shown) == (2, "2 of 15 shown"))
        #expect(found.failed == 4)
        #expect(found.opened == true)
        let open = try #require(found.openNames)
        #expect(open.contains { $0[0] == "heading" && $0[1] == "Timings" })
        #expect(open.contains { $0[0] == "rowheader" && $0[1] == "Connect" })
        #expect(open.contains { $0[0] == "rowheader" && $0[1] == "Authorization" })
        #expect(!open.contains { $0[1].contains("planted-secret") })
    }

    @Test("Hostile strings are shown as text and executed nowhere", arguments: [false, true])
    func hostile(includesSecrets: Bool) async throws {
        let session = Session(HARRecorder(includesSecrets: includesSecrets))
        let strings = HostileStrings.own + sampled(try SharedData.strings())
        session.respond(withEach: strings)
        let found = try await open(session.recorder, as: "hostile", isPlain: true)
        #expect(found.rows == strings.count)
        #expect(found.hacked == nil)
        #expect(found.elements == 2)
        #expect(found.problems == [])
        #expect(found.fits.allSatisfy { $0 })
    }

    @Test("A report without exchanges says what to do")
    func empty() async throws {
        let found = try await open(HARRecorder(), as: "empty")
        #expect(found.rows == 0)
        #expect(found.names("heading").contains("No exchanges yet"))
        #expect(found.problems == [])
    }
}

@Suite("The length of a report is proportional to what was recorded", .timeLimit(.minutes(5)))
struct ReportLengthTests {
    @Test("An exchange refers to the nearest ones of its load, in both directions")
    func exchangesOfLoad() throws {
        let session = Session()
        for attempt in 1...300 {
            let response = HTTPResponse(status: 503)
            session.respond(HTTPRequest(.get, .shop("/")), response, attempt: attempt, at: 20 * attempt)
        }
        let details = details(of: session.recorder)
        #expect(details.count == 300)
        for (index, text) in details.enumerated() {
            let links = text.matches(of: /<a href="#x(\d+)">/).compactMap { Int($0.1) }
            let first = max(0, index - 10)
            #expect(links == (first..<min(first + 20, 300)).filter { $0 != index }.map { $0 + 1 }, "\(index + 1)")
            let others = first + 20 <= 300 ? 280 : first
            #expect(text.contains("and \(others) others"), "\(index + 1)")
        }
    }

    @Test("An exchange that many loads share names some of them")
    func loadsOfExchange() throws {
        let session = Session()
        let number = session.begin(HTTPRequest(.get, .shop("/")))
        for load in 2...500 { session.send(.joined, load: UInt64(load), exchange: number) }
        let text = try #require(details(of: session.recorder).first)
        #expect(text.matches(of: /<li>load \d+/).count == 20)
        #expect(text.contains("<li> <span class=\"quiet\">and 480 others</span></li>"))
    }

    @Test("The end of a path, where those of one service differ, is never shortened", arguments: [0, 31, 32, 300])
    func endOfPath(_ length: Int) throws {
        let session = Session()
        let room = String(repeating: "r-", count: length).prefix(length)
        let paths = ["members", "messages", "state"].map { "/\(room)/\($0)" }
        for (index, path) in paths.enumerated() {
            session.respond(HTTPRequest(.get, .shop(path)), HTTPResponse(status: 200), at: 20 * index)
        }
        let report = String(decoding: session.recorder.report(), as: UTF8.self)
        let rows = report.matches(of: /<span class="path"><bdi>([^<]*)<\/bdi><bdi>([^<]*)<\/bdi><\/span>/)
        #expect(rows.map { "\($0.1)\($0.2)" } == paths)
        for (row, path) in zip(rows, paths) { #expect(row.2 == path.suffix(32)) }
        // The second part keeps its width.
        #expect(report.contains(".path bdi + bdi { flex: none; }"))
    }

    /// The parts of the report about the loads of its exchanges.
    private func details(of recorder: HARRecorder) -> [String] {
        let report = String(decoding: recorder.report(), as: UTF8.self)
        return report.components(separatedBy: "<section class=\"loads\">").dropFirst().map { part in
            part.components(separatedBy: "</section>")[0]
        }
    }
}
