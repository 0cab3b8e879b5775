import Foundation

/// A type whose description contains no secrets, and is all that `dump` and a debugger print.
public protocol RedactedDescription: CustomStringConvertible, CustomReflectable {}

extension RedactedDescription {
    /// A mirror with `description` alone.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension Mirror {
    /// The properties of the object, inherited ones included, may contain secrets.
    init(withoutChildren object: some AnyObject) {
        self.init(object, children: [:], ancestorRepresentation: .suppressed)
    }
}

extension HTTPField: RedactedDescription {
    /// The line, with its value only when the name is known to be harmless, and without a name that looks like a token.
    public var description: String {
        let redactor = Redactor.shared
        return "\(redactor.name(ofHeader: name)): \(redactor.value(ofHeader: name, value))"
    }
}

extension HTTPHeaders: RedactedDescription {
    /// The lines, without the values of secrets.
    public var description: String { map(\.description).description }
}

extension HTTPBody: RedactedDescription {
    /// The pieces, without their contents.
    public var description: String { pieces.map(\.description).description }
}

extension HTTPBody.Piece: RedactedDescription {
    /// The number of bytes, or that it is a file, whose name may be secret.
    public var description: String {
        switch self {
        case .data(let data): "\(data.count) bytes"
        case .file(let file): "file \(Redactor.hidden(file.lastPathComponent.utf8))"
        case .stream(let stream): "\(stream)"
        }
    }
}

extension HTTPRequest: RedactedDescription {
    /// The method and the URL without user, password, fragment and the values of its query.
    public var description: String { "\(method) \(Redactor.shared.url(url.absoluteString))" }
}

extension HTTPResponse: RedactedDescription {
    /// The status and the size, without the contents.
    public var description: String { "HTTP \(status), \(body.count) bytes" }
}
