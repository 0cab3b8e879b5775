import Foundation

/// An optional, whatever it wraps.
protocol OptionalValue {}
extension Optional: OptionalValue {}

extension APIResponse {
    /// Describes a response that should be JSON and is not, for an error.
    ///
    /// Quotes only the media types and markup of the lists below, because other text may contain secrets.
    var notJSONReason: String {
        let type = typeForReason
        guard let markup = Self.markup.first(where: begins) else { return "the response is malformed JSON (\(type))" }
        return "the response is not JSON (\(type), begins with \(markup))"
    }

    /// Only a type of the list below.
    var typeForReason: String {
        guard let type = headers.mediaType else { return "no Content-Type" }
        return Self.mediaTypes.contains(type) ? type : "another Content-Type"
    }

    private func begins(with markup: String) -> Bool {
        String(decoding: start.prefix(markup.utf8.count), as: UTF8.self).lowercased() == markup.lowercased()
    }

    /// Without spaces and a byte order mark.
    private var start: Data { body.prefix(256).drop { $0 <= 0x20 || [0xEF, 0xBB, 0xBF].contains($0) } }
    var beginsLikeObject: Bool { start.first == UInt8(ascii: "{") }

    // A text is listed before its prefixes.
    private static let markup = [
        "<!DOCTYPE html", "<!DOCTYPE", "<html", "<head", "<body", "<?xml", "<rss", "<feed", "<svg", "<soap:Envelope",
        "<",
    ]

    private static let mediaTypes: Set = [
        "text/html", "text/plain", "text/xml", "text/css", "text/csv", "text/javascript", "text/event-stream",
        "application/json", "application/problem+json", "application/vnd.api+json", "application/xml",
        "application/xhtml+xml", "application/soap+xml", "application/problem+xml", "application/rss+xml",
        "application/atom+xml", "application/javascript", "application/octet-stream", "application/pdf",
        "application/zip", "application/gzip", "application/x-www-form-urlencoded", "application/x-protobuf",
        "multipart/form-data", "image/gif", "image/jpeg", "image/png", "image/svg+xml", "image/webp",
    ]
}
