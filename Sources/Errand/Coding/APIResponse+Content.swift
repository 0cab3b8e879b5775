import Foundation

extension APIResponse {
    /// What an answer is that was to be JSON and is not, for an error.
    ///
    /// Only media types and beginnings of these lists are quoted: all else may hold secrets.
    var reasonForNoJSON: String {
        let type = headers["Content-Type"].map { Self.mediaType($0) ?? "another Content-Type" } ?? "no Content-Type"
        guard let markup = Self.markup.first(where: begins) else { return "the answer is malformed JSON (\(type))" }
        return "the answer is not JSON (\(type), begins with \(markup))"
    }

    private static func mediaType(_ field: String) -> String? {
        let type = field.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        return mediaTypes.first { $0 == type }
    }

    private func begins(with markup: String) -> Bool {
        let start = body.prefix(256).drop { $0 <= 0x20 || [0xEF, 0xBB, 0xBF].contains($0) }
        return String(decoding: start.prefix(markup.utf8.count), as: UTF8.self).lowercased() == markup.lowercased()
    }

    // The longer one before one that it begins with.
    private static let markup = [
        "<!DOCTYPE html", "<!DOCTYPE", "<html", "<head", "<body", "<?xml", "<rss", "<feed", "<svg", "<soap:Envelope",
        "<",
    ]

    private static let mediaTypes = [
        "text/html", "text/plain", "text/xml", "text/css", "text/csv", "text/javascript", "text/event-stream",
        "application/json", "application/problem+json", "application/vnd.api+json", "application/xml",
        "application/xhtml+xml", "application/soap+xml", "application/problem+xml", "application/rss+xml",
        "application/atom+xml", "application/javascript", "application/octet-stream", "application/pdf",
        "application/zip", "application/gzip", "application/x-www-form-urlencoded", "application/x-protobuf",
        "multipart/form-data", "image/gif", "image/jpeg", "image/png", "image/svg+xml", "image/webp",
    ]
}
