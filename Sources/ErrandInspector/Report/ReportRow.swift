import Errand
import Foundation

/// One exchange in the list: a line with its waterfall, and the details below it.
struct ReportRow {
    /// A mention of an exchange in the details of another one.
    typealias Reference = (index: Int, outcome: String)

    /// How many characters at the end of a path are always shown.
    private static let shownEnd = 32

    let index: Int
    let exchange: PrintedExchange
    /// When the first exchange has begun.
    let first: Date
    let axis: TimeAxis
    let exchangesOfLoad: [RequestID: [Reference]]

    /// `failed`, or the first digit of the status.
    var kind: String {
        switch exchange.recorded.state {
        case .failed, .cancelled, .open, .unsent: "failed"
        case .redirected, .responded, .cached: exchange.status > 0 ? "\(exchange.status / 100)" : "failed"
        }
    }

    /// The filters that show it.
    var kinds: [String] {
        let isFailed = exchange.error != nil && kind != "failed"
        return [kind] + (isFailed ? ["failed"] : []) + (isAgain ? ["again"] : [])
    }

    private var isAgain: Bool { exchange.recorded.attempt > 1 }

    func write(to page: inout HTMLText) {
        page.element("<li id=\"x", "\(index + 1)", "\" data-kinds=\"")
        page.element("", kinds.joined(separator: " "), "\"><details>\n<summary class=\"row\">")
        let offset = Int64((exchange.start.timeIntervalSince(first) * 1_000_000).rounded())
        page.element("<span class=\"at\">", "+" + ReportFormat.time(offset), "</span>")
        page.element("<span class=\"method\">", exchange.method, "</span>")
        writeURL(to: &page)
        page.element("<span class=\"status\"><b class=\"k", kinds.contains("failed") ? "failed" : kind, "\">")
        page.element("", exchange.outcome, "</b></span>")
        page.element("<span class=\"size\">", exchange.transferredBytes.map(ReportFormat.bytes) ?? "–", "</span>")
        page.element("<span class=\"time\">", ReportFormat.time(exchange.phases.total), "</span>")
        writeBar(to: &page)
        page.markup("</summary>\n<div class=\"details\">\n")
        writeDetails(to: &page)
        page.markup("</div>\n</details></li>\n")
    }

    private func writeURL(to page: inout HTMLText) {
        let (origin, path) = exchange.originAndPath
        // The details have the placeholders with their sizes.
        let short = path.replacing(#/<redacted \d+ bytes>/#, with: "…")
        // Paths of one service differ at their ends, so that a narrow column shortens them before.
        let end = short.suffix(Self.shownEnd)
        page.element("<span class=\"url\"><span class=\"path\"><bdi>", String(short.dropLast(end.count)), "</bdi>")
        page.element("<bdi>", String(end), "</bdi></span> ")
        for note in notes { page.element("<span class=\"note\">", note, "</span> ") }
        page.element("<bdi class=\"host\">", origin, "</bdi></span>")
    }

    /// How it is joined to the other exchanges of its loads.
    private var notes: [String] {
        let recorded = exchange.recorded
        let cause = exchange.cause.map { " after \($0)" } ?? ""
        return [
            recorded.state == .unsent ? "not sent" : nil,
            isAgain ? "try \(recorded.attempt)\(cause)" : nil,
            !isAgain && recorded.cause != nil ? "waited for \(exchange.cause ?? "")" : nil,
            recorded.loads.count > 1 ? "\(recorded.loads.count) loads" : nil,
        ].compactMap { $0 }
    }

    private func writeBar(to page: inout HTMLText) {
        page.markup(
            "<span class=\"bar\"><svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
        )
        var position = axis.position(of: exchange.start)
        for (number, phase) in exchange.phases.all.enumerated() {
            guard let time = phase.microseconds, time > 0 else { continue }
            let width = axis.width(of: time)
            Self.writeRectangle(number, position, max(width, 2), to: &page)
            page.element("<title>", "\(phase.name) \(ReportFormat.time(time))", "</title></rect>")
            position += width
        }
        page.markup("</svg></span>")
    }

    /// Opens the rectangle of a phase.
    static func writeRectangle(_ phase: Int, _ position: Double, _ width: Double, to page: inout HTMLText) {
        page.element("<rect class=\"p", "\(phase)", "\" height=\"10\" x=\"")
        page.element("", ReportFormat.fixed(min(position, 1_000 - min(width, 1_000)), digits: 2), "\" width=\"")
        page.element("", ReportFormat.fixed(width, digits: 2), "\">")
    }
}

extension PrintedExchange {
    /// Scheme, host and port, and the path with the query.
    var originAndPath: (origin: String, path: String) {
        guard let start = url.range(of: "://"), let slash = url[start.upperBound...].firstIndex(of: "/") else {
            return ("", url)
        }
        return (String(url[..<slash]), String(url[slash...]))
    }

    /// The status, or how it has ended without one.
    var outcome: String {
        switch recorded.state {
        case .failed: status > 0 ? "\(status) failed" : recorded.error?.type.rawValue ?? "failed"
        case .cancelled: status > 0 ? "\(status) cancelled" : "cancelled"
        case .unsent: recorded.error?.type.rawValue ?? "cancelled"
        case .open: "in flight"
        case .cached: "\(status) stored" + (recorded.response?.age.map { " \($0.components.seconds) s ago" } ?? "")
        case .redirected: "\(status)"
        case .responded: error == nil ? "\(status)" : "\(status) failed"
        }
    }

    /// The bytes of the response's body on the wire; of the decoded one where that is all that is known.
    var transferredBytes: Int64? { recorded.timings?.receivedBodyBytes ?? decodedBytes }
}
