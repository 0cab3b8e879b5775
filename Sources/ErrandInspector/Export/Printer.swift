import Errand
import Foundation

/// Prints the parts of exchanges for an export, with or without secrets.
struct Printer {
    private let redactor: Redactor?

    init(includesSecrets: Bool) {
        redactor = includesSecrets ? nil : .shared
    }

    var isRedacting: Bool { redactor != nil }

    /// Returns a URL without its fragment, which is not sent.
    func url(_ url: URL) -> String {
        let text = String(url.absoluteString.prefix { $0 != "#" })
        return redactor?.url(text) ?? text
    }

    func value(of name: String, _ value: String) -> String { redactor?.value(ofHeader: name, value) ?? value }

    func attribute(_ value: String) -> String { redactor?.value(ofCookieAttribute: value) ?? value }

    func cookieName(_ name: String) -> String { redactor?.name(name) ?? name }

    /// Returns the value of a cookie; never shown by a redactor, because it is a secret under any name.
    func cookieValue(_ value: String) -> String { isRedacting ? "<redacted \(value.utf8.count) bytes>" : value }

    func fields(_ headers: HTTPHeaders) -> [PrintedField] {
        headers.map {
            PrintedField(name: redactor?.name(ofHeader: $0.name) ?? $0.name, value: value(of: $0.name, $0.value))
        }
    }

    /// Returns the part of a body that was recorded.
    func body(_ body: RecordedBody, contentType: String?) -> PrintedBody {
        let comment = comment(on: body)
        guard !body.kept.isEmpty else { return PrintedBody(text: nil, isBase64: false, comment: comment) }
        let text = redactor?.body(body.kept, contentType: contentType) ?? body.text(contentType: contentType)
        return PrintedBody(text: text ?? body.kept.base64EncodedString(), isBase64: text == nil, comment: comment)
    }

    /// What is missing; `nil` if nothing is.
    private func comment(on body: RecordedBody) -> String? {
        var notes = body.omitted.map(note)
        switch body.place {
        case .memory: break
        case .file: notes.append("The body is in a file.")
        case .stream: notes.append("The body was passed on while it arrived.")
        }
        if body.isCut, let length = body.length {
            notes.append("Only the first \(body.kept.count) of \(length) bytes were recorded.")
        }
        return notes.isEmpty ? nil : notes.joined(separator: " ")
    }

    private func note(on omitted: RecordedBody.Omitted) -> String {
        switch omitted {
        case .file(let file) where !isRedacting: "Without the bytes of the file \(file.lastPathComponent)."
        case .file: "Without the bytes of a file."
        case .stream(let stream): "Without the bytes of a \(stream)."
        }
    }
}

struct PrintedField {
    let name: String
    let value: String
}

struct PrintedBody {
    /// `nil` if nothing of it was recorded.
    let text: String?
    let isBase64: Bool
    let comment: String?
}

extension RecordedBody {
    /// `nil` for a binary one.
    fileprivate func text(contentType: String?) -> String? {
        let type = contentType?.lowercased() ?? ""
        let isLatin1 = ["iso-8859-1", "latin1", "windows-1252"].contains { type.contains("charset=\($0)") }
        guard !isLatin1 else { return String(String.UnicodeScalarView(kept.map { Unicode.Scalar($0) })) }
        let isTextType = ["text/", "json", "xml", "urlencoded", "javascript"].contains { type.contains($0) }
        let valid = String(validating: isCut ? Self.complete(kept) : kept, as: UTF8.self)
        return valid.flatMap { isTextType || Self.isPlain($0) ? $0 : nil }
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
