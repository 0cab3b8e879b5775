import Foundation

extension APIError: LocalizedError, RedactedDescription {
    /// The text for the user.
    public var errorDescription: String? { message }

    /// The type, method and path, status, code and reason.
    public var description: String {
        let request = path.map { path in "\(method.map { "\($0) " } ?? "")\(path)" }
        let parts = [request, status.map { "HTTP \($0)" }, code.map { "code \($0)" }, loggedReason]
        return ([type.rawValue] + parts.compactMap { $0 }).joined(separator: ", ")
    }

    var loggedReason: String? {
        guard let reason else { return underlying?.reasonForLog }
        return underlying.flatMap(\.foreignType).map { "\(reason) (\($0))" } ?? reason
    }
}

extension Error {
    /// Never the text of an error that this library did not make: it may quote a body.
    fileprivate var reasonForLog: String {
        switch self {
        case let error as TransportError: error.reason
        case let error as APIError: error.description
        case let error as DecodingError: error.place
        default: "\(Swift.type(of: self))"
        }
    }

    /// `nil` for an error that this library has read into the reason.
    fileprivate var foreignType: String? {
        self is TransportError || self is APIError || self is DecodingError ? nil : "\(Swift.type(of: self))"
    }
}

extension DecodingError {
    /// Where decoding stopped and why, without the value.
    var place: String {
        switch self {
        case .keyNotFound(let key, let context): "no \(Self.path(context.codingPath + [key]))"
        case .typeMismatch(let type, let context): "\(Self.path(context.codingPath)) is no \(Self.name(of: type))"
        case .valueNotFound(let type, let context): "\(Self.path(context.codingPath)) is null, not \(type)"
        case .dataCorrupted(let context): "\(Self.path(context.codingPath)) is malformed"
        @unknown default: "malformed"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        guard !keys.isEmpty else { return "the response" }
        return keys.map(name).joined(separator: ".")
    }

    /// As JSON has it: decoders report the containers of Swift.
    private static func name(of type: any Any.Type) -> String {
        switch type {
        case is [String: Any].Type: "object"
        case is [Any].Type: "array"
        default: "\(type)"
        }
    }

    /// An index, or a name in the app's code; the keys of a dictionary are the server's, and may be secret.
    static func name(of key: any CodingKey) -> String {
        if let index = key.intValue, key.stringValue == "Index \(index)" { return "[\(index)]" }
        let mirror = Mirror(reflecting: key)
        let isDeclared = key is EnvelopeKey || mirror.displayStyle == .enum && mirror.children.isEmpty
        return isDeclared ? key.stringValue : "*"
    }
}
