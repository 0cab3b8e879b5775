import Errand
import ErrandInspector
import Foundation
import Testing

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
        let paths = ["members", "messages", "state"].map { "/" + String(repeating: "r", count: length) + "/" + $0 }
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
