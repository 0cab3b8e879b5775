import Foundation

/// The text of a body; `nil` for a binary one.
struct BodyText {
    let text: String?

    init(_ body: Data, contentType: String?, isCut: Bool) {
        let type = contentType?.lowercased() ?? ""
        let isLatin1 = ["iso-8859-1", "latin1", "windows-1252"].contains { type.contains("charset=\($0)") }
        guard !isLatin1 else {
            text = String(String.UnicodeScalarView(body.map { Unicode.Scalar($0) }))
            return
        }
        let isTextType = ["text/", "json", "xml", "urlencoded", "javascript"].contains { type.contains($0) }
        let valid = String(validating: isCut ? Self.complete(body) : body, as: UTF8.self)
        text = valid.flatMap { isTextType || Self.isPlain($0) ? $0 : nil }
    }

    /// The bytes without the beginning of a character at their end.
    private static func complete(_ body: Data) -> Data {
        let tail = body.suffix(3)
        guard let start = tail.lastIndex(where: { $0 >= 0xC0 }) else { return body }
        let length = body[start] >= 0xF0 ? 4 : body[start] >= 0xE0 ? 3 : 2
        return body.endIndex - start < length ? body[..<start] : body
    }

    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
    }
}
