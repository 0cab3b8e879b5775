import ErrandTesting
import Foundation
import Testing
import TestSupport

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

@MainActor @Suite("Links to the next page in the body", .hangLimit, .timeLimit(.minutes(10)))
struct BodyLinkTests {
    final class Texts: PageAPIRequest<PageModel<String>>, APIManager {
        let path = "/texts"
        var method = HTTPMethod.get
        var customStrategy: any PageStrategy = .djangoCursor
        override var strategy: any PageStrategy { customStrategy }
        override var headers: HTTPHeaders { ["Authorization": "token 1", "X-Key": "s3cret", "Accept": "text/x"] }
    }

    private func list(_ bodies: [String], _ strategy: any PageStrategy = .djangoCursor) -> (Texts, ScriptedTransport) {
        let responses = Responses(bodies.map { HTTPResponse.json($0) })
        let transport = ScriptedTransport { _ in responses.next() }
        var service = APIService(baseURL: URL("https://shop.test/api"))
        (service.envelope, service.retryPolicy) = (nil, .never)
        service.commonParams = { ["v": 1] }
        service.adapters.request = [Adapter { request, _ in request.headers["X-Signature"] = "s3cret" }]
        let list = Texts(proxy: APIProxy(service: service, transport: transport))
        list.customStrategy = strategy
        return (list, transport)
    }

    private func page(_ text: String, next: String) -> String { #"{"results":["\#(text)"],"next":\#(next)}"# }

    @Test(arguments: [
        (#""https://shop.test/other?cursor=cD0yMDI%3D""#, "https://shop.test/other?cursor=cD0yMDI%3D"),
        (#""?cursor=a%2Fb""#, "https://shop.test/api/texts?cursor=a%2Fb"),
        (#""../x/./y?c=1#top""#, "https://shop.test/x/y?c=1"), (#""//shop.test/z""#, "https://shop.test/z"),
        (#"{"href":"/links?page=2","meta":{}}"#, "https://shop.test/links?page=2"),
    ])
    func `The next page is at the URL of the body, resolved against the URL of the response`(
        _ next: String,
        _ url: String
    ) async throws {
        let (list, transport) = list([page("1", next: next), page("2", next: "null")])
        #expect(try await list.allItems() == ["1", "2"])
        #expect(transport.requests.map(\.url.absoluteString) == ["https://shop.test/api/texts?v=1", url])
        #expect(transport.requests.last?.headers["X-Key"] == "s3cret")
    }

    @Test(arguments: [page("null"), page(#""""#), #"{"results":["1"]}"#, page(#"{"href":null}"#)])
    func `Null, an empty text and a missing member end the list`(_ body: String) async throws {
        let (list, transport) = list([body])
        #expect(try await list.allItems() == ["1"])
        #expect(list.appendState.isEnd && transport.requests.count == 1)
    }

    private nonisolated static func page(_ next: String) -> String { #"{"results":["1"],"next":\#(next)}"# }

    @Test(arguments: ["7", "true", "[]", "{}", #""http://[""#])
    func `Anything else is an error of the next load`(_ next: String) async throws {
        let (list, transport) = list([page("1", next: next)])
        let error = await #expect(throws: APIError.self) { try await list.allItems() }
        #expect(error?.type == .decoding)
        #expect(error?.reason == "the link at next is not a URL")
        #expect(list.items == ["1"] && transport.requests.count == 1)
    }

    @Test func `A body that only the decoder of the service reads is an error of the next load`() async throws {
        let bodies = [#"{"results":["1"],"next":"?c=1","more":1e999}"#, #"{results:['1'],next:'?c=1',}"#]
        for body in bodies {
            let (list, transport) = list([body])
            list.proxy.defaultService?.decoder.allowsJSON5 = true
            let error = await #expect(throws: APIError.self) { try await list.allItems() }
            #expect(error?.type == .decoding)
            #expect(error?.reason?.hasPrefix("the link at next cannot be read") == true)
            #expect(list.items == ["1"] && list.hasMore && transport.requests.count == 1)
        }
    }

    @Test func `A cursor in a body that only the decoder of the service reads is an error of the next load`() async {
        let strategy = CursorStrategy(next: .body("next"))
        let (list, transport) = list([#"{results:["1"],next:"b"}"#], strategy)
        list.proxy.defaultService?.decoder.allowsJSON5 = true
        let error = await #expect(throws: APIError.self) { try await list.allItems() }
        #expect(error?.type == .decoding)
        #expect(error?.reason?.contains("the cursor at next cannot be read") == true)
        #expect(transport.requests.count == 1)
        #expect(list.items == ["1"])
    }

    @Test(arguments: ["false", "null", #""""#])
    func `A cursor that is none ends the list`(_ next: String) async throws {
        let (list, transport) = list(
            [page("1", next: next), page("2", next: "null")],
            CursorStrategy(next: .body("next"))
        )
        #expect(try await list.allItems() == ["1"])
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: ["true", "[7]", #"{"a":1}"#])
    func `A cursor of another type is an error of the next load`(_ next: String) async throws {
        let (list, transport) = list([page("1", next: next)], CursorStrategy(next: .body("next")))
        let error = await #expect(throws: APIError.self) { try await list.allItems() }
        #expect(error?.reason?.contains("neither a string nor a number") == true)
        #expect(transport.requests.count == 1)
    }

    @Test func `A body is parsed once for both links, also if that fails`() throws {
        let count = Counter()
        let body = PageJSON(Data(#"{"next":1}"#.utf8)) { json in
            _ = count.next()
            return try JSONValue(json: json)
        }
        #expect(try body.value() == body.value())
        #expect(count.count == 1)
        body.discard()
        #expect(try body.value()["next"] == 1)
        #expect(count.count == 2)
        let invalid = PageJSON(Data("[".utf8)) { json in
            _ = count.next()
            return try JSONValue(json: json)
        }
        for _ in 0..<2 { #expect(throws: DecodingError.self) { try invalid.value() } }
        #expect(count.count == 3)
    }

    @Test func `A path reads the links of JSON API`() async throws {
        let bodies = [
            #"{"list":["1"],"links":{"next":"/texts?page[number]=2"}}"#, #"{"list":["2"],"links":{"next":null}}"#,
        ]
        let (list, transport) = list(bodies, .link(next: .body("links", "next"), sizeKey: "page[size]", size: 5))
        #expect(try await list.allItems() == ["1", "2"])
        #expect(transport.requests.first?.url.absoluteString.contains("size%5D=5") == true)
        #expect(transport.requests.last?.url.absoluteString == "https://shop.test/texts?page%5Bnumber%5D=2")
    }

    @Test func `A page that has been named before is not requested`() async throws {
        let (list, transport) = list([
            page("1", next: #""?c=1""#), page("2", next: #""?c=2""#), page("3", next: #""?c=1""#),
        ])
        let error = await #expect(throws: APIError.self) { try await list.allItems() }
        #expect(error?.type == .decoding && error?.reason?.contains("named before") == true)
        #expect(transport.requests.count == 3 && list.items == ["1", "2", "3"])
    }

    @Test(arguments: ["https://evil.test/x?c=s3cret", "http://shop.test/x", "https://shop.test:8443/x", "//evil.test/"])
    func `Another origin is refused, and nothing is sent`(_ next: String) async throws {
        let (list, transport) = list([page("1", next: "\"\(next)\"")])
        let error = await #expect(throws: APIError.self) { try await list.allItems() }
        #expect(error?.type == .security)
        #expect(error?.reason?.contains("to another origin") == true && error?.reason?.contains("s3cret") == false)
        #expect(transport.requests.count == 1 && list.items == ["1"])
    }

    @Test func `An allowed origin receives no secrets`() async throws {
        let strategy = LinkStrategy(next: .body("next"), allowedOrigins: [URL("https://pages.test/any/path")])
        let bodies = [
            page("1", next: #""https://pages.test/2""#), page("2", next: #""https://shop.test/3""#),
            page("3", next: #""https://pages.test:444/4""#),
        ]
        let (list, transport) = list(bodies, strategy)
        let error = await #expect(throws: APIError.self) { try await list.allItems() }
        #expect(error?.type == .security, "another port is another origin")
        #expect(list.items == ["1", "2", "3"])
        let requests = transport.requests
        #expect(requests.map(\.url.host) == ["shop.test", "pages.test", "shop.test"])
        #expect(requests[1].headers.map(\.name) == ["Accept"])
        #expect(requests[2].headers["Authorization"] == "token 1" && requests[2].headers["X-Signature"] == "s3cret")
    }

    @Test(arguments: [("https://pages.test/2", 0, 2), ("https://shop.test/2", 1, 3)])
    func `A request to an allowed origin is not adapted, and its 401 does not renew the login`(
        _ next: String,
        _ logins: Int,
        _ count: Int
    ) async throws {
        let account = Account()
        let responses = Responses([
            HTTPResponse.json(page("1", next: "\"\(next)\"")), HTTPResponse(status: 401),
            .json(page("2", next: "null")),
        ])
        let transport = ScriptedTransport { _ in responses.next() }
        var service = APIService(baseURL: URL("https://shop.test/api"))
        (service.envelope, service.retryPolicy, service.reloginHandler) = (nil, .never, account)
        service.adapters.request = [
            Adapter { request, _ in
                request.url.append(queryItems: [URLQueryItem(name: "signature", value: "s3cret")])
            }
        ]
        let list = Texts(proxy: APIProxy(service: service, transport: transport))
        list.customStrategy = LinkStrategy(next: .body("next"), allowedOrigins: [URL("https://pages.test")])
        let error: APIError? = await {
            do throws(APIError) {
                _ = try await list.allItems()
                return nil
            } catch {
                return error
            }
        }()
        #expect(error?.status == (logins == 0 ? 401 : nil) && account.logins == logins)
        #expect(transport.requests.count == count)
        #expect(transport.requests.map { $0.url.query() != nil } == (0..<count).map { $0 == 0 || logins > 0 })
    }

    @Test func `An allowed origin receives no body`() async throws {
        let strategy = LinkStrategy(next: .body("next"), allowedOrigins: [URL("https://pages.test")])
        let (list, transport) = list([page("1", next: #""https://pages.test/2""#)], strategy)
        list.method = .post
        let error = await #expect(throws: APIError.self) { try await list.allItems() }
        #expect(error?.type == .security && error?.reason?.contains("the body to another origin") == true)
        #expect(transport.requests.count == 1)
    }

    // MARK: Django REST framework

    /// A list of 137 rows in each of the framework's paginations.
    final class Rows: PageAPIRequest<PageModel<Int>>, APIManager {
        let path = "/rows"
        let method = HTTPMethod.get
        var customStrategy: any PageStrategy = .djangoCursor
        override var strategy: any PageStrategy { customStrategy }
    }

    private nonisolated static func rows(for request: HTTPRequest, isCounted: Bool, size: Int) -> HTTPResponse {
        let query = URLComponents(url: request.url, resolvingAgainstBaseURL: true)?.queryItems ?? []
        func number(_ name: String) -> Int? { query.first { $0.name == name }?.value.flatMap { Int($0) } }
        let (page, size) = (number("page") ?? 1, number("page_size") ?? size)
        let start = number("offset") ?? number("cursor") ?? (page - 1) * size
        guard start < 137 else { return HTTPResponse(status: 404, body: Data(#"{"detail":"Invalid page."}"#.utf8)) }
        let rows = Array((0..<137).dropFirst(start).prefix(number("limit") ?? size))
        let end = start + rows.count
        let next = end < 137 ? #""http://shop.test/api/rows?cursor=\#(end)""# : "null"
        let count = isCounted ? #""count":137,"# : ""
        return .json(#"{\#(count)"next":\#(next),"previous":null,"results":\#(rows)}"#)
    }

    @Test func `Each pagination of Django REST framework is loaded in as few requests as possible`() async throws {
        let ways: [(any PageStrategy, Bool, Int)] = [
            (.djangoPageNumber(), true, 7), (.djangoPageNumber(size: 50), true, 3),
            (.djangoLimitOffset(limit: 50), true, 3), (.djangoCursor, false, 7), (.djangoCursor, true, 7),
        ]
        for (strategy, isCounted, requests) in ways {
            let transport = ScriptedTransport { Self.rows(for: $0, isCounted: isCounted, size: 20) }
            let service = APIService.sample { $0.envelope = nil }
            let list = Rows(proxy: APIProxy(fake: transport, service: service))
            list.customStrategy = strategy
            #expect(try await list.allItems() == Array(0..<137))
            #expect(transport.requests.count == requests)
            #expect(list.totalCount == (isCounted ? 137 : nil))
        }
    }

    @Test func `A server that ignores the page size is loaded completely`() async throws {
        let transport = ScriptedTransport { request in
            var request = request
            request.url = URL(request.url.absoluteString.replacing("page_size", with: "ignored"))
            return Self.rows(for: request, isCounted: true, size: 10)
        }
        let list = Rows(proxy: APIProxy(fake: transport, service: .sample { $0.envelope = nil }))
        list.customStrategy = .djangoPageNumber(size: 50)
        #expect(try await list.allItems() == Array(0..<137))
        #expect(transport.requests.count == 14)
    }
}
