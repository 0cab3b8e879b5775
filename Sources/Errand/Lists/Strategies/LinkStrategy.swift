/// Pages by the `Link` header of each answer (RFC 8288), as in GitHub's API: `<…?page=2>; rel="next"`.
///
/// The link is requested unchanged: its percent-encoding is kept, and neither the request's parameters nor the service's are
/// added to its query. The request's headers are sent, and its body if the method has one. A relative link is resolved
/// against the URL that answered (RFC 3986 section 5). A link to another origin than the service's, including `http` instead
/// of `https`, is not followed: the load fails with `security`, and nothing is sent. The list ends with an answer that has no
/// such link; an empty page alone does not end it.
public struct LinkStrategy: PageStrategy {
    /// The relation of the next page.
    public var nextRelation: String
    /// The relation of the previous page.
    public var previousRelation: String
    /// The name of the parameter for the size, in the first request; `nil`, the default, sends none.
    public var sizeKey: String?
    /// The number of items to request per page; at least 1.
    public var size: Int

    /// Creates the strategy.
    public init(
        nextRelation: String = "next",
        previousRelation: String = "prev",
        sizeKey: String? = nil,
        size: Int = 20
    ) {
        self.nextRelation = nextRelation
        self.previousRelation = previousRelation
        self.sizeKey = sizeKey
        self.size = size
    }

    /// The start of the list.
    public var start: PagePosition { .start }

    /// Returns the size for the first page; a link contains all its parameters.
    public func params(at position: PagePosition) throws(PageStrategyError) -> APIParams {
        if case .link = position { return [:] }
        guard position == .start else { throw PageStrategyError("no link: \(position)") }
        guard let sizeKey else { return [:] }
        guard size > 0 else { throw PageStrategyError("a page of \(size) items cannot be requested") }
        return [sizeKey: size]
    }

    /// Returns the link to the next page, if there is one.
    ///
    /// - Throws: ``PageStrategyError`` when it is not a URL.
    public func position(after page: PageInfo) throws(PageStrategyError) -> PagePosition? {
        try position(withRelation: nextRelation, in: page)
    }

    /// Returns the link to the previous page, if there is one.
    ///
    /// - Throws: ``PageStrategyError`` when it is not a URL.
    public func position(before page: PageInfo) throws(PageStrategyError) -> PagePosition? {
        try position(withRelation: previousRelation, in: page)
    }

    private func position(
        withRelation relation: String,
        in page: PageInfo
    ) throws(PageStrategyError) -> PagePosition? {
        let links = HTTPLink.links(in: page.response.headers)
        // A link with an anchor describes another resource than this answer.
        guard let link = links.first(where: { $0.hasRelation(relation) && $0.parameters["anchor"] == nil }) else {
            return nil
        }
        guard let position = page.link(to: link.reference.bytes) else {
            throw PageStrategyError("the link with the relation \(relation) is not a URL")
        }
        return position
    }
}

extension PageStrategy where Self == LinkStrategy {
    /// Pages by the `Link` header of each answer (RFC 8288), as in GitHub's API.
    public static var link: Self { Self() }

    /// Pages by the `Link` header of each answer (RFC 8288), as in GitHub's API.
    ///
    /// - Parameters:
    ///   - nextRelation: The relation of the next page.
    ///   - previousRelation: The relation of the previous page.
    ///   - sizeKey: The name of the parameter for the size, in the first request.
    ///   - size: The number of items to request per page; at least 1.
    /// - Returns: The strategy.
    public static func link(
        nextRelation: String = "next",
        previousRelation: String = "prev",
        sizeKey: String?,
        size: Int = 20
    ) -> Self {
        Self(nextRelation: nextRelation, previousRelation: previousRelation, sizeKey: sizeKey, size: size)
    }
}
