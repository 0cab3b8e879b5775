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
    func url(following link: URL) throws(APIError) -> URL {
        guard link.hasSameOrigin(as: baseURL) else {
            throw APIError(.security, service: self, reason: "the link to a page leads to another origin")
        }
        return link
    }
}
