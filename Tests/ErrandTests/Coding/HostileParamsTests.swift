import ErrandTesting
import FixtureServer
import Foundation
import Testing

@testable import Errand

@MainActor @Suite("Hostile parameters arrive byte by byte, or are refused unsent", .takesTurns, .timeLimit(.minutes(1)))
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
        let proxy = APIProxy(service: APIService(baseURL: server.baseURL), transport: try kind.make())
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
        for text in Self.texts {
            screen.params = ["v": text, "k\(text)": 1]
            #expect(try await send(kind, to: server) { $0.method = .get } == .success)
            #expect(try await send(kind, to: server) { $0.ownSerializer = .form } == .success)
            #expect(try await send(kind, to: server) { $0.ownSerializer = .json } == .success)
            let (query, form) = (try await server.takeRequest(), try await server.takeRequest())
            #expect(query.queryValue("v") == text)
            #expect(query.queryValue("k\(text)") == "1")
            #expect(form.formItems.first { $0.name == "v" }?.value == text)
            let json = try await server.takeRequest().json(JSONValue.self)
            #expect(json["v"] == .string(text))
            #expect(json["k\(text)"] == .int(1))
        }
    }

    @Test(.fault(61), arguments: TransportKind.allCases)
    func `In a header name, a header value and a method`(_ kind: TransportKind) async throws {
        let server = try goodsServer()
        for text in Self.texts {
            let value = try await send(kind, to: server) { $0.ownHeaders = ["X-Value": text] }
            if value == .success {
                let arrived = try await server.takeRequest().header("X-Value") ?? ""
                #expect(arrived == text.trimmingCharacters(in: .whitespaces), "\(text.debugDescription)")
            } else {
                #expect(value == .failure(.paramsError))
                #expect(text.unicodeScalars.contains { $0.value < 32 && $0 != "\t" || $0.value == 127 })
            }
            guard !text.utf8.allSatisfy(\.isToken) else { continue }
            #expect(try await send(kind, to: server) { $0.ownHeaders = [text: "1"] } == .failure(.paramsError))
            #expect(
                try await send(kind, to: server) { $0.method = HTTPMethod(rawValue: text) } == .failure(.paramsError)
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
    func `In multipart, with the boundary inside the data`(_ kind: TransportKind) async throws {
        let server = try goodsServer()
        for text in Self.texts {
            screen.params = nil
            screen.parts = { form in
                let data = Data("--\(form.boundary)\r\n\(text)".utf8)
                form.append(data, name: "n\(text)", filename: text)
            }
            let ending = try await send(kind, to: server) { $0.ownSerializer = .multipart }
            guard text.utf8.allSatisfy({ $0 >= 32 && $0 != 127 }) else {
                #expect(ending == .failure(.paramsError))
                continue
            }
            #expect(ending == .success)
            let body = try await server.takeRequest().text
            #expect(body.contains("name=\"n\(text.replacing("\"", with: "%22"))\""))
            #expect(body.contains("\r\n\r\n--errand-"))
        }
    }

    @Test(.fault(63), .enabled(if: SharedData.naughtyStrings.exists, "the conformance data is not here"))
    func `The naughty strings arrive in query, form, JSON and path`() async throws {
        let texts: [String] = try SharedData.naughtyStrings.json("blns.json")
        #expect(texts.count == 515)
        let server = try goodsServer()
        for text in texts where !["", ".", ".."].contains(text) {
            screen.params = ["id": text, "v": text]
            #expect(try await send(.urlSession, to: server) { $0.path = "/{id}" } == .success)
            let request = try await server.takeRequest()
            #expect(request.path.dropFirst().percentDecoded == Array(text.utf8))
            #expect(try request.json(JSONValue.self)["v"] == .string(text))
        }
    }
}

extension Substring {
    /// The bytes behind the triplets; `removingPercentEncoding` would drop a byte order mark.
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
