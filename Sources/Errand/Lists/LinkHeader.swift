import Foundation

/// Pages by the `Link` header of each answer (RFC 8288), as GitHub's API has them: `<…?page=2>; rel="next"`.
///
/// The link is followed as it is: what is percent-encoded in it stays so, and neither the request's parameters nor the
/// service's are added to its query, because the server has put there what it needs. The request's headers are sent, and its
/// body where the method has one. A relative link is resolved against the URL that answered (RFC 3986 section 5). A link to
/// another origin than the service's, `http` instead of `https` included, is not followed: the load fails with `security`, and
/// nothing is sent. The list ends with an answer that has no such link; an empty page alone does not end it.
public struct LinkHeader: PageStrategy {
    /// The relation of the next page.
    public var next = "next"
    /// The relation of the page in front.
    public var previous = "prev"
    /// The name of the parameter for the size, in the first request; `nil`, the default, sends none.
    public var sizeKey: String?
    /// How many items a page has; at least 1.
    public var size = 20

    /// Creates the strategy.
    public init(next: String = "next", previous: String = "prev", sizeKey: String? = nil, size: Int = 20) {
        self.next = next
        self.previous = previous
        self.sizeKey = sizeKey
        self.size = size
    }

    /// The beginning of the list.
    public var start: PagePosition { .start }

    /// The size, for the first page; a link has all parameters in it.
    public func params(at position: PagePosition) throws(PageStrategyError) -> APIParams {
        if case .link = position { return [:] }
        guard position == .start else { throw PageStrategyError("no link: \(position)") }
        guard let sizeKey else { return [:] }
        guard size > 0 else { throw PageStrategyError("a page of \(size) items cannot be asked for") }
        return [sizeKey: size]
    }

    /// The next page's link, where there is one.
    ///
    /// - Throws: ``PageStrategyError`` when it is no URL.
    public func position(after page: PageFacts) throws(PageStrategyError) -> PagePosition? {
        try position(next, in: page.response)
    }

    /// The link to the page in front, where there is one.
    ///
    /// - Throws: ``PageStrategyError`` when it is no URL.
    public func position(before page: PageFacts) throws(PageStrategyError) -> PagePosition? {
        try position(previous, in: page.response)
    }

    private func position(
        _ relation: String,
        in response: APIResponse
    ) throws(PageStrategyError) -> PagePosition? {
        let links = WebLink.links(in: response.headers)
        // With an anchor a link is one of something else than this answer.
        guard let link = links.first(where: { $0.has(relation) && $0.parameters["anchor"] == nil }) else { return nil }
        guard let url = URLReference(link.reference.bytes)?.resolved(against: response.url) else {
            throw PageStrategyError("the link of relation \(relation) is no URL")
        }
        return .link(url)
    }
}

extension PageFacts {
    /// Returns the position of a page whose URL the answer contains, for a strategy that finds it elsewhere than in `Link`.
    ///
    /// `URL(string:)` encodes triplets again when another character of the text is illegal, and the server gets another cursor
    /// than it gave; this does not.
    ///
    /// - Parameter reference: An absolute URL, or one relative to the answer's (RFC 3986 section 4.1).
    /// - Returns: `nil` when it is no URL.
    public func link(to reference: String) -> PagePosition? {
        URLReference(reference.utf8)?.resolved(against: response.url).map(PagePosition.link)
    }
}
