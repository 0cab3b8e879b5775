import Foundation

/// What a page adds to the request that asks for it.
struct PageWish {
    let params: APIParams
    /// Where the server says that the page is, where it does.
    let link: URL?

    init(_ position: PagePosition, _ strategy: any PageStrategy) throws(PageStrategyError) {
        params = try strategy.params(at: position)
        link = if case .link(let url) = position { url } else { nil }
    }
}

extension APIService {
    /// Returns a link of the server if it leads to the service's own origin, the only one that may receive its headers.
    ///
    /// - Throws: `security`, with both origins and nothing else of their URLs.
    func url(following link: URL) throws(APIError) -> URL {
        guard link.hasSameOrigin(as: baseURL) else {
            let reason = "the link to a page leads from \(baseURL.originText) to another origin, \(link.originText)"
            throw APIError(.security, service: self, reason: reason)
        }
        return link
    }
}
