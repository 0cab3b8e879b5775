public import Foundation

/// The position of a page in its list, in the terms of the strategy.
public enum PagePosition: Sendable, Hashable {
    /// The start of the list, for a strategy whose first request names no position.
    case start
    /// The number of the page.
    case number(Int)
    /// The number of items before the page.
    case offset(Int)
    /// A cursor from the server, and the name of the parameter that sends it.
    case cursor(String, parameter: String)
    /// A URL from the server, which is requested unchanged if it has the service's origin or an allowed one.
    case link(URL)
}

extension PagePosition: RedactedDescription {
    /// The position, without the text of a cursor and the secret parts of a URL.
    public var description: String {
        switch self {
        case .start: "start"
        case .number(let number): "page \(number)"
        case .offset(let offset): "offset \(offset)"
        case .cursor(let cursor, let parameter): "\(parameter) \(Redactor.hidden(cursor.utf8))"
        case .link(let url): "link \(Redactor.shared.url(url.absoluteString))"
        }
    }
}
