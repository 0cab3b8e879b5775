import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("Hostile parameters arrive byte by byte, or are refused unsent", .limitedConcurrency, .timeLimit(.minutes(10)))
struct HostileParamsTests {
    static let texts = [
        "a\r\nX-Evil: 1", "a\nb", "a\rb", "nul\u{0}", "del\u{7F}", "tab\tx", "ümläut 苹果 🍏", "\u{202E}rtl",
        "a&b=c+d%20e#f?g",
        "\"quoted\" \\ `x` $(y) 'z'", " ", "%00", "../../etc", "<script>", "\u{FEFF}bom", "a;b,c", "",
    ]

    let screen = Screen()

    private func send(
        _ kind: TransportKind,
        to server: FixtureServer,
        _ change: (GoodsRequest) -> Void
    ) async throws -> Screen.Event? {
        await send(through: try proxy(kind, server), change)
    }

    private func proxy(_ kind: TransportKind, _ server: FixtureServer) throws -> APIProxy {
        APIProxy(service: APIService(baseURL: server.baseURL), transport: try kind.make())
    }

    private func send(through proxy: APIProxy, _ change: (GoodsRequest) -> Void) async -> Screen.Event? {
        let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: proxy)
        change(request)
        request.loadData()
        return await screen.ending()
    }

    private func goodsServer() throws -> FixtureServer {
        try FixtureServer.start { _ in .json(bytes: goodsJSON([]).utf8) }
    }

    @Test(.fault(61), arguments: TransportKind.allCases)
    func `In a query, a form, JSON and a multipart field`(_ kind: TransportKind) async throws {
        let server = try goodsServer()
        let proxy = try proxy(kind, server)
        for text in Self.texts { try await expectArrival(of: text, at: server, through: proxy) }
    }

    @Test(.fault(61), arguments: TransportKind.allCases)
    func `In a header name, a header value and a method`(_ kind: TransportKind) async throws {
        let server = try goodsServer()
        for text in Self.texts {
            let value = try await send(kind, to: server) { $0.customHeaders = ["X-Value": text] }
            if value == .success {
                let arrived = try await server.takeRequest().header("X-Value") ?? ""
                #expect(arrived == text.trimmingCharacters(in: .whitespaces), "\(text.debugDescription)")
            } else {
                #expect(value == .failure(.invalidRequest))
                #expect(text.unicodeScalars.contains { $0.value < 32 && $0 != "\t" || $0.value == 127 })
            }
            guard !text.utf8.allSatisfy(\.isToken) else { continue }
            #expect(try await send(kind, to: server) { $0.customHeaders = [text: "1"] } == .failure(.invalidRequest))
            #expect(
                try await send(kind, to: server) { $0.method = HTTPMethod(rawValue: text) } == .failure(.invalidRequest)
            )
        }
        #expect(server.requests.allSatisfy { $0.headers.first { $0.name == "X-Evil" } == nil })
    }

    @Test(.fault(62), arguments: TransportKind.allCases)
    func `In a path parameter, which stays one segment`(_ kind: TransportKind) async throws {
        let server = try goodsServer()
        let hostile = ["../admin", "%2e%2e/", "//evil.example", #"\evil"#, "?x=", "#", "a/b"]
        for text in hostile + Self.texts where !text.isEmpty {
            screen.params = ["id": text]
            #expect(try await send(kind, to: server) { $0.path = "/o/{id}/end" } == .success)
            let segments = try await server.takeRequest().target.split(separator: "/", omittingEmptySubsequences: false)
            #expect(segments.count == 4, "\(text.debugDescription)")
            #expect(segments[2].percentDecoded == Array(text.utf8))
        }
    }

    @Test(.fault(61), arguments: TransportKind.allCases)
    func `In the names and types of parts, whose data is a whole body with its boundary`(_ kind: TransportKind)
        async throws
    {
        let server = try goodsServer()
        let proxy = try proxy(kind, server)
        #expect(await send(through: proxy) { $0.customSerializer = .multipart } == .success)
        // A random boundary for each load is not in existing data.
        var data = try await server.takeRequest().body
        for text in Self.texts {
            screen.parts = { form in
                form.append(Data(data), name: "n\(text)", filename: text, contentType: "a/b\(text)c")
            }
            let ending = await send(through: proxy) { $0.customSerializer = .multipart }
            guard text.utf8.allSatisfy({ $0 >= 32 && $0 != 127 }) else {
                #expect(ending == .failure(.invalidRequest))
                continue
            }
            #expect(ending == .success)
            let request = try await server.takeRequest()
            let parts = try #require(MultipartBody(request)).parts
            let quoted = text.replacing("\"", with: "%22")
            try #require(parts.count == 1)
            #expect(parts[0].bytes == data)
            #expect(parts[0].name.map { Array($0.utf8) } == Array("n\(quoted)".utf8))
            #expect(parts[0].filename.map { Array($0.utf8) } == Array(quoted.utf8))
            #expect(parts[0].headers["Content-Type"].map { Array($0.utf8) } == Array("a/b\(text)c".utf8))
            data = request.body
        }
        #expect(server.totalRequests == 1 + Self.texts.count { $0.utf8.allSatisfy { $0 >= 32 && $0 != 127 } })
    }

    @Test(.fault(61), arguments: TransportKind.allCases)
    func `In a cookie, which is sent as it is or never kept`(_ kind: TransportKind) async throws {
        let server = try goodsServer()
        for text in Self.texts {
            let proxy = try proxy(kind, server)
            let outcome: CookieJar.Outcome = proxy.cookies.store(setCookie: "c=<\(text)>", from: server.baseURL)
            let isHostile = text.utf8.contains { $0 < 32 && $0 != 9 || $0 == 127 }
            if isHostile { #expect(outcome == .refused(.controlCharacter)) }
            #expect(await send(through: proxy) { _ in } == .success)
            let request = try await server.takeRequest()
            let kept = isHostile ? [] : [Array("c=<\(text)>".utf8.prefix { $0 != UInt8(ascii: ";") })]
            #expect(request.headers.filter { $0.name == "Cookie" }.map(\.bytes) == kept, "\(text.debugDescription)")
            #expect(request.headers["X-Evil"] == nil)
        }
    }

    @Test(arguments: TransportKind.allCases, [HTTPMethod.post, .put, .patch])
    func `Without parameters no byte of a body or query is sent`(_ kind: TransportKind, _ method: HTTPMethod)
        async throws
    {
        let server = try goodsServer()
        let proxy = try proxy(kind, server)
        screen.params = nil
        for serializer in [RequestSerializer.json, .form, .multipart] {
            let ending = await send(through: proxy) { ($0.method, $0.customSerializer) = (method, serializer) }
            #expect(ending == .success)
            let request = try await server.takeRequest()
            #expect(request.body.isEmpty)
            #expect(request.header("Content-Type") == nil)
            #expect(request.header("Content-Length") == "0", "RFC 9110, section 8.6")
        }
    }

    @Test(
        .fault(63),
        .enabled(if: SharedData.naughtyStrings.exists, "the conformance data is not here"),
        arguments: TransportKind.allCases
    )
    func `The naughty strings arrive in path, query, form, JSON and multipart`(_ kind: TransportKind) async throws {
        let texts: [String] = try SharedData.naughtyStrings.json("blns.json")
        #expect(texts.count == 515)
        let server = try goodsServer()
        let proxy = try proxy(kind, server)
        let number = try #require(TransportKind.allCases.firstIndex(of: kind))
        let step = TransportKind.allCases.count * 4 / rounds(4)
        // Each over one transport, and with slow tests over all: what transports encode is in the texts of the other tests.
        for (index, text) in texts.enumerated() where CookieProbe.runsSlowTests || index % step == number {
            try await expectArrival(of: text, at: server, through: proxy)
            screen.params = ["id": text]
            let ending = await send(through: proxy) { $0.path = "/{id}" }
            guard !["", ".", ".."].contains(text) else {
                #expect(ending == .failure(.invalidRequest))
                continue
            }
            #expect(ending == .success)
            #expect(try await server.takeRequest().path.dropFirst().percentDecoded == Array(text.utf8))
        }
    }

    /// Sends a text as value and as name in everything that may carry it.
    private func expectArrival(of text: String, at server: FixtureServer, through proxy: APIProxy) async throws {
        let (value, name) = (Array(text.utf8), Array("k\(text)".utf8))
        let pairs = [[name, [49]], [Array("v".utf8), value]]
        screen.params = ["v": text, "k\(text)": 1]
        #expect(await send(through: proxy) { $0.method = .get } == .success)
        #expect(try await server.takeRequest().queryItems.bytes == pairs, "\(text.debugDescription)")
        #expect(await send(through: proxy) { $0.customSerializer = .form } == .success)
        #expect(try await server.takeRequest().formItems.bytes == pairs, "\(text.debugDescription)")
        #expect(await send(through: proxy) { $0.customSerializer = .json } == .success)
        let members = try await server.takeRequest().json([String: JSONValue].self)
        #expect(members["v"]?.string.map { Array($0.utf8) } == value, "\(text.debugDescription)")
        #expect(members.first { $0.value == .int(1) }.map { Array($0.key.utf8) } == name, "\(text.debugDescription)")
        screen.params = ["v": text]
        #expect(await send(through: proxy) { $0.customSerializer = .multipart } == .success)
        let parts = try #require(MultipartBody(try await server.takeRequest())).parts
        #expect(parts.map(\.name) == ["v"] && parts.map(\.bytes) == [value], "\(text.debugDescription)")
    }
}

extension [FormItem] {
    /// The bytes of each name and value: texts are equal that are not the same.
    fileprivate var bytes: [[[UInt8]]] { map { [[UInt8]($0.name.utf8), [UInt8]($0.value.utf8)] } }
}

extension Substring {
    /// Returns the decoded bytes; `removingPercentEncoding` would omit a byte order mark.
    fileprivate var percentDecoded: [UInt8] {
        var bytes: [UInt8] = []
        var rest = utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%"), let code = UInt8(String(rest.prefix(2)) ?? "", radix: 16) else {
                bytes.append(byte)
                continue
            }
            bytes.append(code)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}
