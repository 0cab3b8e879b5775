import Errand
import ErrandTesting
import Foundation

/// Lists without a network: the transport responds at once.
enum PageScript {
    /// Creates a proxy that serves the long list from pages in memory.
    static func goods() -> APIProxy {
        let pages = (0...Goods.pages).map { Data(Goods.page($0)) }
        return proxy { number in pages.indices.contains(number) ? pages[number] : pages[0] }
    }

    /// Creates a proxy that serves pages of one number each.
    static func numbers(pages: Int) -> APIProxy {
        proxy { Data(#"{"errcode":200,"data":{"list":[\#($0)],"totalPage":\#(pages)}}"#.utf8) }
    }

    private static func proxy(_ page: @escaping @Sendable (Int) -> Data) -> APIProxy {
        guard let url = URL(string: "http://script.invalid") else { preconditionFailure("no URL") }
        let transport = ScriptedTransport(keepsRequests: false) { request in
            let items = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
            let number = items.first { $0.name == "page" }?.value.flatMap { Int($0) } ?? 0
            return HTTPResponse(status: 200, headers: ["Content-Type": "application/json"], body: page(number))
        }
        return APIProxy(service: APIService(baseURL: url), transport: transport)
    }
}
