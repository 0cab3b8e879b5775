import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Cursors and links", .hangLimit, .timeLimit(.minutes(10)))
struct CursorTests {
    final class Texts: PageAPIRequest<[String]>, APIManager {
        let path = "/texts"
        var method = HTTPMethod.get
        var customStrategy: any PageStrategy = .cursor()
        override var strategy: any PageStrategy { customStrategy }
    }

    private func list(
        _ strategy: any PageStrategy,
        base: String = "http://shop.test/api",
        _ responses: [HTTPResponse]
    ) -> (Texts, ScriptedTransport) {
        let responses = Responses(responses)
        let transport = ScriptedTransport { _ in responses.next() }
        var service = APIService(baseURL: URL(base))
        service.commonParams = { ["v": 1] }
        let screen = Self.screen
        let list = Texts(paramSource: screen, proxy: APIProxy(service: service, transport: transport))
        list.customStrategy = strategy
        return (list, transport)
    }

    private static let screen = Screen(params: ["shop": 7])

    private func response(_ text: String, _ more: String = "", _ headers: HTTPHeaders = [:]) -> HTTPResponse {
        let body = #"{"errcode":200,"data":["\#(text)"]\#(more)}"#
        return HTTPResponse(status: 200, headers: headers, body: Data(body.utf8))
    }

    @Test func `A string or a number in the body is a cursor until it is missing`() async throws {
        for (first, second) in [(#""a b""#, "cursor=a+b"), ("17", "cursor=17")] {
            let (list, transport) = list(
                CursorStrategy(next: .body("paging", "next"), sizeKey: "limit", size: 5),
                [response("1", #","paging":{"next":\#(first)}"#), response("2", #","paging":{"next":null}"#)]
            )
            #expect(try await list.allItems() == ["1", "2"])
            #expect(transport.requests.map(\.url.query) == ["limit=5&shop=7&v=1", "\(second)&limit=5&shop=7&v=1"])
        }
    }

    @Test(.fault(47)) func `A missing cursor and an empty one end the list, an empty page does not`() async throws {
        let empty = HTTPResponse(status: 200, headers: ["X-Next": "c"], body: Data(#"{"errcode":200,"data":[]}"#.utf8))
        for last in [HTTPHeaders(), ["X-Next": ""]] {
            let (list, transport) = list(
                CursorStrategy(cursorKey: "after", next: .header("X-Next"), startCursor: ""),
                [response("1", "", ["X-Next": "b"]), empty, response("2", "", last)]
            )
            #expect(try await list.allItems() == ["1", "2"])
            #expect(transport.requests.map { $0.url.query?.prefix { $0 != "&" } } == ["after=", "after=b", "after=c"])
            #expect(list.appendState.isEnd)
        }
    }

    @Test func `A separate cursor requests the previous page`() async throws {
        let (list, transport) = list(
            .cursor("after", next: .header("X-Next"), previousCursorKey: "before", previous: .header("X-Previous")),
            [response("2", "", ["X-Previous": "p1"]), response("1", "", ["X-Previous": "p0"]), response("0")]
        )
        for _ in 1...3 {
            let id = list.loadPreviousPage()
            _ = await list.ending(of: try #require(id))
        }
        #expect(list.items == ["0", "1", "2"])
        #expect(list.loadPreviousPage() == nil)
        #expect(
            transport.requests.compactMap { $0.url.query?.prefix { $0 != "&" } } == [
                "shop=7", "before=p1", "before=p0",
            ]
        )
    }

    @Test(.fault(51), arguments: [0, -1, Int.min]) func `A page size below 1 is refused`(_ size: Int) {
        #expect(throws: PageStrategyError.self) { try CursorStrategy(sizeKey: "limit", size: size).params(at: .start) }
        #expect(throws: PageStrategyError.self) { try LinkStrategy(sizeKey: "limit", size: size).params(at: .start) }
        #expect(throws: PageStrategyError.self) { try CursorStrategy().params(at: .number(1)) }
        #expect(throws: PageStrategyError.self) { try LinkStrategy().params(at: .offset(1)) }
    }

    @Test(.fault(51)) func `The largest page size is accepted`() throws {
        #expect(try CursorStrategy(sizeKey: "limit", size: .max).params(at: .start)["limit"] as? Int == .max)
        #expect(try LinkStrategy(sizeKey: "limit", size: .max).params(at: .start)["limit"] as? Int == .max)
    }

    @Test func `A link is requested unchanged, with the request's headers and without its parameters`() async throws {
        let (list, transport) = list(
            LinkStrategy(sizeKey: "per_page", size: 5),
            [
                response("1", "", ["Link": #"<../other/texts?page=2&sig=a%2Fb#top>; rel="prefetch next""#]),
                response("2"),
            ]
        )
        #expect(try await list.allItems() == ["1", "2"])
        #expect(
            transport.requests.map(\.url.absoluteString) == [
                "http://shop.test/api/texts?per_page=5&shop=7&v=1", "http://shop.test/other/texts?page=2&sig=a%2Fb",
            ]
        )
    }

    @Test func `A method with a body sends it with each link`() async throws {
        let (list, transport) = list(
            LinkStrategy(),
            [response("1", "", ["Link": "<?page=2>;rel=next"]), response("2")]
        )
        list.method = .post
        #expect(try await list.allItems() == ["1", "2"])
        #expect(
            transport.requests.map(\.url.absoluteString) == [
                "http://shop.test/api/texts", "http://shop.test/api/texts?page=2",
            ]
        )
        #expect(transport.requests.map(\.body.bytesForTest) == [#"{"shop":7,"v":1}"#, #"{"shop":7,"v":1}"#])
    }

    @Test(
        .fault(50),
        arguments: [
            "http://shop.test/texts", "https://shop.test:8443/texts", "https://evil.test/texts", "//evil.test/texts",
            "https://api.shop.test/texts", "https://shop.test.evil.test/", "https://shop.test@evil.test/",
            "file:///etc/passwd", "ftp://shop.test/", "javascript:alert(1)", "https://shop.test./texts",
        ]
    )
    func `A link to another origin is refused, and nothing is sent`(_ target: String) async throws {
        let (list, transport) = list(
            LinkStrategy(),
            base: "https://shop.test/api",
            [response("1", "", ["Link": "<\(target)>; rel=next"]), response("2")]
        )
        let error = await #expect(throws: APIError.self) { try await list.allItems() }
        #expect(error?.type == .security)
        let origin = URL(string: target, relativeTo: URL("https://shop.test"))?.absoluteURL.originText
        let reason = "the link to a page leads from https://shop.test to another origin, \(origin ?? "")"
        #expect(error?.reason == reason)
        #expect(transport.requests.count == 1)
        #expect(list.items == ["1"])
        #expect(list.appendState.error?.type == .security)
        let retried = await list.ending(of: try #require(list.retry()))
        #expect(retried.error?.type == .security)
        #expect(transport.requests.count == 1)
    }

    @Test(.fault(50), arguments: ["http://[", "http://", "http:2"])
    func `A link that is not a URL with a host fails the next load`(_ target: String) async throws {
        let (broken, transport) = list(LinkStrategy(), [response("1", "", ["Link": "<\(target)>; rel=next"])])
        let error = await #expect(throws: APIError.self) { try await broken.allItems() }
        #expect(error?.type == .decoding)
        #expect(transport.requests.count == 1)
        #expect(broken.hasMore && broken.items == ["1"])
    }

    @Test(.fault(50)) func `A refused link is described without user info, path and query`() async throws {
        let target = "https://me:s3cret@evil.test:8443/s3cret?s3cret#s3cret"
        let (list, _) = list(
            LinkStrategy(),
            base: "https://shop.test/api",
            [response("1", "", ["Link": "<\(target)>; rel=next"])]
        )
        let error = try #require(await #expect(throws: APIError.self) { try await list.allItems() })
        #expect(error.reason?.hasSuffix("from https://shop.test to another origin, https://evil.test:8443") == true)
        #expect(!"\(error) \(error.reason ?? "")".contains("s3cret"))
    }

    @Test func `The credentials in a link are removed`() async throws {
        let (list, other) = list(
            LinkStrategy(),
            [response("1", "", ["Link": "<http://me:pw@shop.test/2>; rel=next"]), response("2")]
        )
        #expect(try await list.allItems() == ["1", "2"])
        #expect(other.requests.last?.url.absoluteString == "http://shop.test/2")
    }

    @Test(.fault(80)) func `A custom strategy resolves links from another source in the same way`() throws {
        let response = APIResponse(HTTPResponse(status: 200), url: URL("http://shop.test/api/texts?page=1"))
        let page = PageInfo(position: .start, itemCount: 1, response: response)
        #expect(page.link(to: "?c=a|b%3D") == .link(URL("http://shop.test/api/texts?c=a%7Cb%3D")))
        #expect(page.link(to: "http://shop.test/x/../y%20 z") == .link(URL("http://shop.test/y%20%20z")))
        #expect(page.link(to: "http://[") == nil)
    }

    @Test func `A link with an anchor is ignored`() async throws {
        let (list, _) = list(LinkStrategy(), [response("1", "", ["Link": ##"</2>; rel=next; anchor="#part""##])])
        #expect(try await list.allItems() == ["1"])
        #expect(list.appendState.isEnd)
    }

    @Test func `A link requests the previous page`() async throws {
        let (list, _) = list(
            LinkStrategy(),
            [response("2", "", ["Link": "<?page=1>; rel=prev"]), response("1", "", ["Link": "<?page=2>; rel=next"])]
        )
        for _ in 1...2 { _ = await list.ending(of: try #require(list.loadPreviousPage())) }
        #expect(list.items == ["1", "2"])
        #expect(!list.hasPrevious && !list.hasMore)
    }

    @Test func `Each format of the page model is decoded`() throws {
        func page(_ json: String) throws -> PageModel<Int> {
            try JSONDecoder().decode(PageModel<Int>.self, from: Data(json.utf8))
        }
        let numbered = try page(#"{"list":[1,2],"totalPage":7,"totalRow":137}"#)
        #expect(numbered.items == [1, 2] && numbered.totalPages == 7 && numbered.totalItems == 137)
        let counted = try page(#"{"list":[1],"total_count":5}"#)
        #expect(counted.totalPages == nil && counted.totalItems == 5)
        let snakes = JSONDecoder()
        snakes.keyDecodingStrategy = .convertFromSnakeCase
        let converted = try snakes.decode(PageModel<Int>.self, from: Data(#"{"list":[1],"total_count":5}"#.utf8))
        #expect(converted.totalItems == 5)
        #expect(try page(#"{"list":null}"#).items.isEmpty)
        #expect(throws: DecodingError.self) { try page(#"{"totalRow":1}"#) }
        #expect(throws: DecodingError.self) { try page(#"{"list":["x"]}"#) }
    }
}

extension HTTPBody {
    /// The bytes of a body that is in memory, as text.
    fileprivate var bytesForTest: String? {
        guard case .data(let data)? = pieces.first, pieces.count == 1 else { return nil }
        return String(decoding: data, as: UTF8.self)
    }
}
