import Foundation

extension Mirror {
    /// Creates the mirror of an object whose properties, inherited ones included, may contain secrets.
    init(withoutChildren object: some AnyObject) {
        self.init(object, children: [:], ancestorRepresentation: .suppressed)
    }
}

extension HTTPField: CustomStringConvertible, CustomReflectable {
    /// The line, with its value only when the name is known to be harmless, and without a name that looks like a token.
    public var description: String {
        "\(Redactor.standard.name(ofHeader: name)): \(Redactor.standard.value(ofHeader: name, value))"
    }

    /// The line as in ``description``, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["field": description]) }
}

extension HTTPHeaders: CustomStringConvertible, CustomReflectable {
    /// The lines, without the values of secrets.
    public var description: String { map(\.description).description }

    /// The lines, without the values of secrets.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: map(\.description)) }
}

extension HTTPBody: CustomStringConvertible, CustomReflectable {
    /// The pieces, without their contents.
    public var description: String { pieces.map(\.description).description }

    /// The body as in ``description``, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["body": description]) }
}

extension HTTPBody.Piece: CustomStringConvertible, CustomReflectable {
    /// The number of bytes, or that it is a file, whose name may be secret.
    public var description: String {
        switch self {
        case .data(let data): "\(data.count) bytes"
        case .file(let file): "file \(Redactor.hidden(file.lastPathComponent.utf8))"
        case .stream(let stream): "\(stream)"
        }
    }

    /// The piece as in ``description``, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["piece": description]) }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the URL without user, password, fragment and the values of its query.
    public var description: String { "\(method) \(Redactor.standard.url(url.absoluteString))" }

    /// The request as in ``description``, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
    /// The status and the size, without the contents.
    public var description: String { "HTTP \(status), \(body.count) bytes" }

    /// The response as in ``description``, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["response": description]) }
}
