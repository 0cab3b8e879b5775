public import Foundation

/// Where a page stands in its list, in the terms of the strategy.
public enum PagePosition: Sendable, Hashable {
    /// Where the list begins, for a strategy whose first request names no position.
    case start
    /// The number of the page.
    case number(Int)
    /// The number of items in front of the page.
    case offset(Int)
    /// A text that the server gave, and the name of the parameter that brings it back.
    case cursor(String, parameter: String)
    /// A URL that the server gave, which is followed as it is if it leads to the service's own origin.
    case link(URL)
}

extension PagePosition {
    /// The URL of a link.
    var link: URL? {
        guard case .link(let url) = self else { return nil }
        return url
    }
}

extension PagePosition: CustomStringConvertible, CustomReflectable {
    /// The position, without the text of a cursor, and without what is secret in a URL.
    public var description: String {
        switch self {
        case .start: "start"
        case .number(let number): "page \(number)"
        case .offset(let offset): "offset \(offset)"
        case .cursor(let cursor, let parameter): "\(parameter) \(Redaction.hidden(cursor.utf8))"
        case .link(let url): "link \(Redaction.url(url.absoluteString))"
        }
    }

    /// The position as ``description`` has it, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["position": description]) }
}
