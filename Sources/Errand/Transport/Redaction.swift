import Foundation

extension HTTPField: CustomStringConvertible, CustomReflectable {
    /// The line, without its value where the name tells that it is a secret, and without the query of a URL.
    public var description: String { "\(name): \(isSecret ? "<redacted>" : hasURL ? value.withoutURLSecrets : value)" }

    /// The line as ``description`` has it, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["field": description]) }

    private var isSecret: Bool {
        let marks = ["auth", "cookie", "token", "secret", "key", "password", "session", "signature"]
        return marks.contains(where: name.lowercased().contains)
    }

    private var hasURL: Bool {
        ["Location", "Content-Location", "Refresh", "Referer", "Link"].contains(where: isNamed)
    }
}

extension String {
    /// The text, which begins with a URL, without what is secret in a URL: user and password, query, fragment.
    fileprivate var withoutURLSecrets: String {
        let plain = prefix { $0 != "?" && $0 != "#" }.replacing(#/\/\/[^\/]*@/#, with: "//<redacted>@")
        let cut = first { $0 == "?" || $0 == "#" }
        return cut.map { "\(plain)\($0)<redacted>" } ?? String(plain)
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
    public var description: String { "\(method) \(url.absoluteString.withoutURLSecrets)" }

    /// The request as ``description`` has it, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
    /// The status and the size; nothing of the contents.
    public var description: String { "HTTP \(status), \(body.count) bytes" }

    /// The response as ``description`` has it, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["response": description]) }
}

extension TransportConfiguration.Proxy: CustomStringConvertible, CustomReflectable {
    /// The kind of proxy, and the URL without user and password.
    public var description: String {
        switch self {
        case .environment: "environment"
        case .url(let url): "url(\(url.absoluteString.withoutURLSecrets))"
        case .none: "none"
        }
    }

    /// The proxy as ``description`` has it, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["proxy": description]) }
}

extension ClientIdentity: CustomStringConvertible, CustomReflectable {
    /// The path of the certificate, without the password of the key.
    public var description: String { "identity(\(certificate.path))" }

    /// The identity as ``description`` has it, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["identity": description]) }
}
