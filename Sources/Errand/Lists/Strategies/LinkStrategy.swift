public import Foundation

struct LinkStrategy: PageStrategy {
    var next: StandardPageStrategy.LinkSource = .header("next")
    var previous: StandardPageStrategy.LinkSource? = .header("prev")
    var allowedOrigins: [URL] = []
    /// For the first request; `nil` sends no size.
    var sizeKey: String?
    var size = 20

    var start: PagePosition { .start }

    /// A link contains all its parameters.
    func params(at position: PagePosition) throws(PageStrategyError) -> APIParams {
        if case .link = position { return [:] }
        guard position == .start else { throw PageStrategyError("no link: \(position)") }
        guard let sizeKey else { return [:] }
        guard size > 0 else { throw PageStrategyError("a page of \(size) items cannot be requested") }
        return [sizeKey: size]
    }

    func position(after page: PageInfo) throws(PageStrategyError) -> PagePosition? {
        try next.read(page)
    }

    func position(before page: PageInfo) throws(PageStrategyError) -> PagePosition? {
        try previous?.read(page)
    }
}

extension StandardPageStrategy {
    /// Where a response contains a link.
    public struct LinkSource: Sendable {
        let read: @Sendable (PageInfo) throws(PageStrategyError) -> PagePosition?

        /// The `Link` header, with a relation such as `next`, in any case.
        public static func header(_ relation: String) -> LinkSource {
            LinkSource { page throws(PageStrategyError) in
                let links = HTTPLink.links(in: page.response.headers)
                // A link with an anchor describes another resource than this response.
                let link = links.first { $0.hasRelation(relation) && $0.parameters["anchor"] == nil }
                return try position(of: link?.reference.bytes, in: page, named: "with the relation \(relation)")
            }
        }

        /// A member of the response's JSON, for example `.body("links", "next")`: a string, or an object with the string as `href`
        /// (JSON:API).
        ///
        /// `null`, an empty string, a missing member and an empty body mean that there is no link. With a body that is not JSON
        /// (RFC 8259) in UTF-8, the next load fails with `decoding`, even if the service's decoder can read the body. For JSON5,
        /// UTF-16 or another format, read the link in a custom ``PageStrategy`` with ``PageInfo/nextCursor`` and
        /// ``PageInfo/link(to:)``.
        ///
        /// Parses the whole body, including its envelope, once more on the main actor: once for each page, also if both
        /// links are read. The page's type need not contain the link.
        public static func body(_ path: String...) -> LinkSource {
            LinkSource { page throws(PageStrategyError) in
                let name = "at \(path.joined(separator: "."))"
                let member = path.reduce(try page.body(for: "the link \(name)")) { $0?[$1] }
                guard let target = member?["href"] ?? member, target != .null else { return nil }
                guard let text = target.string else {
                    throw PageStrategyError("the link \(name) is not a URL")
                }
                return text.isEmpty ? nil : try position(of: text.utf8, in: page, named: name)
            }
        }

        private static func position(
            of reference: (some Collection<UInt8>)?,
            in page: PageInfo,
            named name: String
        ) throws(PageStrategyError) -> PagePosition? {
            guard let reference else { return nil }
            guard let position = page.link(to: reference) else {
                throw PageStrategyError("the link \(name) is not a URL")
            }
            return position
        }
    }
}

extension LinkStrategy: RedactedDescription {
    /// The allowed origins, without other parts of their URLs.
    var description: String { "LinkStrategy(\(allowedOrigins.map(\.originText).joined(separator: ", ")))" }
}

extension PageStrategy where Self == StandardPageStrategy {
    /// Pages by the `Link` header of each response (RFC 8288), as in GitHub's API.
    public static var link: Self { .link() }

    /// Pages by the URL of the next page that each response contains, for example `.link(next: .body("links", "next"))`.
    ///
    /// The link is requested unchanged, apart from a signature: its percent-encoding is kept, and neither the request's
    /// parameters nor the service's are added to its query. The request's headers are sent, and its body if the method has one. A
    /// relative link is resolved against the URL that responded (RFC 3986 section 5). A link to another origin than the
    /// service's, for example with `http` instead of `https`, is followed only if `allowedOrigins` contains the origin; otherwise
    /// the load fails with `security` before anything is sent. The list ends with a response that has no such link; an empty page
    /// alone does not end it.
    ///
    /// - Parameters:
    ///   - next: Where a response contains the link to the next page.
    ///   - previous: Where a response contains the link to the previous page; `nil` if it contains none.
    ///   - allowedOrigins: The origins, besides the service's, to which a link may lead, as URLs with any path. A request to such
    ///     an origin contains no body, no header that may be secret, and only the cookies of that origin; if the method sends a
    ///     body, the load fails with `security`.
    ///   - sizeKey: The name of the parameter for the size, in the first request.
    ///   - size: The number of items to request per page; sent if there is a `sizeKey`.
    /// - Returns: The strategy.
    public static func link(
        next: StandardPageStrategy.LinkSource = .header("next"),
        previous: StandardPageStrategy.LinkSource? = .header("prev"),
        allowedOrigins: [URL] = [],
        sizeKey: String? = nil,
        size: Int = 20
    ) -> Self {
        Self(LinkStrategy(next: next, previous: previous, allowedOrigins: allowedOrigins, sizeKey: sizeKey, size: size))
    }

    /// Pages of Django REST framework's `CursorPagination`: the URLs `next` and `previous` in the body.
    ///
    /// ``PageModel`` is a page of it. Follows the links of the two other paginations as well.
    public static var djangoCursor: Self { .link(next: .body("next"), previous: .body("previous")) }
}
