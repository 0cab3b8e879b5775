import Errand
import Foundation

/// The report: one HTML page with its style and script, and nothing that is loaded.
struct ReportPage {
    private let rows: [ReportRow]
    private let removed: Int
    private let isRedacted: Bool
    private let axis: TimeAxis

    init(_ recorder: HARRecorder) {
        let (exchanges, removed) = recorder.snapshot
        let printer = Printer(includesSecrets: recorder.includesSecrets)
        let printed = exchanges.map { PrintedExchange($0, printer, recorder.clock) }
        let axis = TimeAxis(printed)
        self.axis = axis
        self.removed = removed
        isRedacted = printer.isRedacting
        // The exchanges of a load refer to each other.
        var exchangesOfLoad: [RequestID: [ReportRow.Reference]] = [:]
        for (index, exchange) in printed.enumerated() {
            for load in exchange.recorded.loads { exchangesOfLoad[load, default: []].append((index, exchange.outcome)) }
        }
        let first = printed.first?.start ?? Date()
        rows = printed.enumerated().map { index, exchange in
            ReportRow(index: index, exchange: exchange, first: first, axis: axis, exchangesOfLoad: exchangesOfLoad)
        }
    }

    var data: Data {
        var page = HTMLText()
        writeHead(to: &page)
        writeHeader(to: &page)
        page.markup("<main id=\"exchanges\" tabindex=\"-1\">\n")
        if rows.isEmpty { page.markup(Self.emptyState) } else { writeList(to: &page) }
        page.markup("</main>\n")
        writeFooter(to: &page)
        return Data(page.bytes)
    }

    // Recorded values cannot execute anything: they are escaped, and they do not know the nonce.
    private func writeHead(to page: inout HTMLText) {
        let nonce = String.uniqueName
        page.markup("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
        page.markup("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ")
        page.element("style-src 'nonce-", nonce, "'; script-src 'nonce-")
        page.element("", nonce, "'; base-uri 'none'; form-action 'none'\">\n")
        page.markup("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"robots\" content=\"noindex\">\n")
        page.markup("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        page.markup("<meta name=\"color-scheme\" content=\"light dark\">\n<title>Exchanges – Errand</title>\n")
        page.element("<style nonce=\"", nonce, "\">\n")
        page.markup(ReportStyle.layout)
        page.markup(ReportStyle.details)
        page.element("</style>\n<script type=\"module\" nonce=\"", nonce, "\">\n")
        page.markup(ReportScript.text)
        page.markup("</script>\n</head>\n<body>\n<a class=\"skip\" href=\"#exchanges\">Skip to the exchanges</a>\n")
    }

    private func writeHeader(to page: inout HTMLText) {
        page.markup("<header class=\"top\">\n<div class=\"title\"><h1>Exchanges</h1>\n")
        page.element("<p class=\"summary\">", summary, "</p></div>\n")
        guard !rows.isEmpty else { return page.markup("</header>\n") }
        // Hidden without scripts, which it needs.
        page.markup("<form id=\"filters\" role=\"search\" hidden>\n")
        page.markup("<label class=\"search\"><span class=\"quiet\">Filter</span> <input id=\"text\" type=\"search\" ")
        page.markup("placeholder=\"URL, header, body, “load 7”\" autocomplete=\"off\" spellcheck=\"false\"></label>\n")
        page.markup("<div role=\"group\" aria-label=\"Show\" class=\"kinds\">\n")
        for kind in kinds where kind.count > 0 {
            page.element("<button type=\"button\" data-kind=\"", kind.id, "\" aria-pressed=\"")
            page.value(kind.id == "all" ? "true" : "false")
            page.element("\">", kind.name, " <span class=\"count\">")
            page.element("", "\(kind.count)", "</span></button>\n")
        }
        page.markup("</div>\n<button type=\"button\" id=\"toggle\">Open all</button>\n")
        page.markup("<output id=\"shown\" aria-live=\"polite\"></output>\n</form>\n")
        page.markup(Self.legend)
        page.markup("</header>\n")
    }

    private func writeList(to page: inout HTMLText) {
        page.markup(Self.columns)
        page.markup("<ol class=\"rows\" aria-label=\"Exchanges\">\n")
        for row in rows { row.write(to: &page) }
        page.markup("</ol>\n<p id=\"none\" class=\"empty\" hidden>No exchange matches the filter.</p>\n")
    }

    private func writeFooter(to page: inout HTMLText) {
        let sentences = [
            isRedacted
                ? "Values that are not known to be harmless are shown by their size."
                : "This report contains secrets, such as passwords and tokens.",
            axis.isShortened ? "Long times without an exchange are shortened in the waterfall." : nil,
            removed > 0 ? "\(removed) older exchanges were removed because of the limits of the recorder." : nil,
        ]
        let text = sentences.compactMap { $0 }.joined(separator: " ")
        page.element("<footer><p>", text, "</p></footer>\n</body>\n</html>\n")
    }

    private var summary: String {
        guard let first = rows.first?.exchange.start else { return "" }
        let end = rows.map { $0.exchange.start + Double($0.exchange.phases.total) / 1_000_000 }.max() ?? first
        let received = rows.reduce(Int64(0)) { $0 + ($1.exchange.transferredBytes ?? 0) }
        let failed = rows.count { $0.kinds.contains("failed") }
        let parts = [
            "\(rows.count) exchange\(rows.count == 1 ? "" : "s")", failed > 0 ? "\(failed) failed" : nil,
            ReportFormat.bytes(received) + " received",
            ReportFormat.time(Int64((end.timeIntervalSince(first) * 1_000_000).rounded())),
            "from " + first.formatted(Date.ISO8601FormatStyle()),
        ]
        return parts.compactMap { $0 }.joined(separator: " · ")
    }

    private var kinds: [(id: String, name: String, count: Int)] {
        let all = [
            ("2", "2xx"), ("3", "3xx"), ("4", "4xx"), ("5", "5xx"), ("failed", "Failed"), ("again", "Sent again"),
        ]
        return [("all", "All", rows.count)]
            + all.map { id, name in (id, name, rows.count { $0.kinds.contains(id) }) }
    }
}

extension ReportPage {
    private static let emptyState: StaticString = """
        <div class="empty"><h2>No exchanges yet</h2>
        <p>The recorder has seen no exchange since it was made or cleared. Add it to the monitors of the proxy before the
        first load.</p></div>

        """

    private static let columns: StaticString = """
        <div class="row columns" aria-hidden="true"><span class="at">Start</span><span class="method">Method</span>
        <span class="url">URL</span><span class="status">Status</span><span class="size">Size</span>
        <span class="time">Time</span><span class="bar">Waterfall</span></div>

        """

    private static let legend: StaticString = """
        <ul class="legend" aria-label="Phases in the waterfall">
        <li><i class="p0"></i>Queue</li><li><i class="p1"></i>DNS</li><li><i class="p2"></i>Connect</li>
        <li><i class="p3"></i>TLS</li><li><i class="p4"></i>Send</li><li><i class="p5"></i>Wait</li>
        <li><i class="p6"></i>Receive</li></ul>

        """
}
