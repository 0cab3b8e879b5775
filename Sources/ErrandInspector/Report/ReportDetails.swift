import Errand
import Foundation

/// The details of one exchange: its properties, its phases, headers and bodies.
extension ReportRow {
    /// The longest body that is shown; an archive has all that was recorded.
    private static let longestText = 64 << 10
    /// The most loads of an exchange, and exchanges of a load, that are named.
    private static let longestList = 20

    func writeDetails(to page: inout HTMLText) {
        if let error = exchange.error { page.element("<p class=\"error\"><b>Error</b> ", error, "</p>\n") }
        page.element("<p class=\"full\"><b>", exchange.method, "</b> <bdi>")
        page.element("", exchange.url, "</bdi></p>\n<div class=\"columns2\">\n")
        writeTimings(to: &page)
        writeConnection(to: &page)
        page.markup("</div>\n")
        writeLoads(to: &page)
        page.markup("<div class=\"columns2\">\n")
        writeMessage("Request", exchange.requestHeaders, exchange.requestBody, to: &page)
        writeMessage("Response", exchange.responseHeaders, exchange.responseBody, to: &page)
        page.markup("</div>\n")
    }

    private func writeTimings(to page: inout HTMLText) {
        page.markup("<section><h2>Timings</h2><table class=\"phases\"><tbody>\n")
        let total = max(exchange.phases.total, 1)
        var position = 0.0
        for (number, phase) in exchange.phases.all.enumerated() {
            guard let time = phase.microseconds else { continue }
            let width = Double(time) / Double(total) * 1_000
            page.element("<tr><th scope=\"row\"><i class=\"p", "\(number)", "\"></i>")
            page.element("", phase.name, "</th><td class=\"number\">")
            page.element("", ReportFormat.time(time), "</td><td class=\"scale\" aria-hidden=\"true\">")
            page.markup("<svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\">")
            Self.writeRectangle(number, position, max(width, time > 0 ? 3 : 0), to: &page)
            page.markup("</rect></svg></td></tr>\n")
            position += width
        }
        page.element(
            "<tr class=\"total\"><th scope=\"row\">Total</th><td class=\"number\">",
            ReportFormat.time(total),
            ""
        )
        page.markup("</td><td></td></tr></tbody></table></section>\n")
    }

    private func writeConnection(to page: inout HTMLText) {
        let timings = exchange.recorded.timings
        let port = timings?.remotePort.map { ":\($0)" } ?? ""
        let properties: [(String, String?)] = [
            ("Started", exchange.start.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))),
            ("Protocol", exchange.httpVersion),
            ("Server", exchange.address.map { ($0.contains(":") ? "[\($0)]" : $0) + port }),
            ("Connection", timings?.connectionID.map { $0 + (timings?.isReused == true ? ", reused" : ", new") }),
            ("Sent", sizes(timings?.sentHeaderBytes, timings?.sentBodyBytes)),
            ("Received", sizes(timings?.receivedHeaderBytes, timings?.receivedBodyBytes)),
            ("Decoded", exchange.decodedBytes.map(ReportFormat.bytes)),
            ("Try", exchange.recorded.attempt > 0 ? "\(exchange.recorded.attempt)" : nil),
            ("Waited for", exchange.cause),
        ]
        page.markup("<section><h2>Transfer</h2><table><tbody>\n")
        for (name, value) in properties {
            guard let value else { continue }
            page.element("<tr><th scope=\"row\">", name, "</th>")
            page.element("<td>", value, "</td></tr>\n")
        }
        page.markup("</tbody></table></section>\n")
    }

    private func sizes(_ headers: Int64?, _ body: Int64?) -> String? {
        guard headers != nil || body != nil else { return nil }
        let parts = [
            headers.map { ReportFormat.bytes($0) + " headers" }, body.map { ReportFormat.bytes($0) + " body" },
        ]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }

    private func writeLoads(to page: inout HTMLText) {
        let loads = exchange.recorded.loads
        page.markup("<section class=\"loads\"><h2>Loads</h2><ul>\n")
        for load in loads.prefix(Self.longestList) {
            page.element("<li>load ", "\(load)", "")
            // In the order of their indexes.
            let references = exchangesOfLoad[load] ?? []
            let position = references.index(behindAll: { $0.index < index })
            let start = max(0, position - Self.longestList / 2)
            let nearest = references[start...].prefix(Self.longestList)
            for reference in nearest { write(reference, to: &page) }
            writeOthers(references.count - nearest.count, to: &page)
            page.markup("</li>\n")
        }
        if loads.count > Self.longestList {
            page.markup("<li>")
            writeOthers(loads.count - Self.longestList, to: &page)
            page.markup("</li>\n")
        }
        page.markup("</ul></section>\n")
    }

    private func write(_ reference: Reference, to page: inout HTMLText) {
        let name = "#\(reference.index + 1) \(reference.outcome)"
        if reference.index == index {
            page.element(" <b aria-current=\"true\">", name, "</b>")
        } else {
            page.element(" <a href=\"#x", "\(reference.index + 1)", "\">")
            page.element("", name, "</a>")
        }
    }

    private func writeOthers(_ count: Int, to page: inout HTMLText) {
        if count > 0 { page.element(" <span class=\"quiet\">and ", "\(count)", " others</span>") }
    }

    private func writeMessage(
        _ title: String,
        _ headers: [PrintedField],
        _ body: PrintedBody?,
        to page: inout HTMLText
    ) {
        page.element("<section><h2>", title, "</h2>\n")
        page.markup(headers.isEmpty ? "<p class=\"quiet\">No headers</p>\n" : "<table><tbody>\n")
        for field in headers {
            page.element("<tr><th scope=\"row\">", field.name, "</th>")
            page.element("<td><bdi>", field.value, "</bdi></td></tr>\n")
        }
        if !headers.isEmpty { page.markup("</tbody></table>\n") }
        if let body { write(body, to: &page) }
        page.markup("</section>\n")
    }

    private func write(_ body: PrintedBody, to page: inout HTMLText) {
        if let comment = body.comment { page.element("<p class=\"quiet\">", comment, "</p>\n") }
        guard let text = body.text else { return }
        let isLong = text.utf8.count > Self.longestText
        if body.isBase64 { page.markup("<p class=\"quiet\">Base64</p>\n") }
        let shown = isLong ? String(decoding: text.utf8.prefix(Self.longestText), as: UTF8.self) : text
        page.element("<pre tabindex=\"0\" role=\"group\" aria-label=\"Body\"><bdi>", shown, "</bdi></pre>\n")
        if isLong { page.markup("<p class=\"quiet\">The beginning of the body; the archive has the rest.</p>\n") }
    }
}
