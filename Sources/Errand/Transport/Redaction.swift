import Foundation

extension HTTPField: CustomStringConvertible, CustomReflectable {
    /// The line, without its value where the name tells that it is a secret.
    public var description: String { "\(name): \(isSecret ? "<redacted>" : value)" }

    /// The line as ``description`` has it, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["field": description]) }

    private var isSecret: Bool {
        let marks = ["auth", "cookie", "token", "secret", "key", "password", "session", "signature"]
        return marks.contains(where: name.lowercased().contains)
    }
}

extension HTTPHeaders: CustomStringConvertible, CustomReflectable {
    /// The lines, without the values of secrets.
    public var description: String { map(\.description).description }

    /// The lines, without the values of secrets.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: map(\.description)) }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the URL without its query, which may hold secrets.
    public var description: String {
        let query = url.query == nil ? "" : "?<redacted>"
        let text = url.absoluteString.prefix { $0 != "?" && $0 != "#" }
        return "\(method) \(text)\(query)"
    }

    /// The request as ``description`` has it, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
    /// The status and the size; nothing of the contents.
    public var description: String { "HTTP \(status), \(body.count) bytes" }

    /// The response as ``description`` has it, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["response": description]) }
}
