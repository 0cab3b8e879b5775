public import Foundation

/// Shows what is known to be harmless of headers, URLs and bodies, and only the size of everything else.
///
/// A header, a query item or a JSON member whose name is not known to be harmless is shown as `<redacted n bytes>`. An app adds
/// names:
///
/// ```swift
/// var redactor = Redactor()
/// redactor.memberNames = ["category", "page"]
/// ```
public struct Redactor: Sendable {
    /// The names of further headers whose values are harmless; case does not matter.
    public var headerNames: Set<String> = []
    /// The names of query and form items whose values are harmless.
    public var queryNames: Set<String> = []
    /// The names of JSON members whose values are harmless.
    public var memberNames: Set<String> = []

    /// Creates the default redactor.
    public init() {}

    /// Returns the printable value of a header line.
    public func value(ofHeader name: String, _ value: String) -> String { Redaction.value(of: name, value) }

    /// Returns the printable form of a URL or a relative reference.
    public func url(_ text: String) -> String { Redaction.url(text) }

    /// Returns the printable form of a body.
    ///
    /// - Parameters:
    ///   - body: The bytes.
    ///   - contentType: The `Content-Type`, with its parameters.
    /// - Returns: The text.
    public func body(_ body: Data, contentType: String?) -> String { Redaction.hidden(body) }
}
