import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Malformed JSON and text", .timeLimit(.minutes(10)))
struct HostileResponseTests {
    // Exit tests need child processes.
    #if os(macOS) || os(Linux)
    @Test(.startsLate, .fault(54)) func `Unusual JSON is a value or a decoding failure`() async {
        await #expect(processExitsWith: .success) {
            for body in hardlyJSON { await Self.expectOneEnding(of: body) }
        }
    }

    @Test(.startsLate, .fault(54), .enabled(if: SharedData.jsonTestSuite.exists, "the conformance data is not here"))
    func `Each file of the JSON test suite is a value or a decoding failure, and each valid one a value`() async {
        await #expect(processExitsWith: .success) {
            let folder = SharedData.jsonTestSuite.folder.appending(path: "test_parsing")
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(files.count > 250)
            for file in files where file.hasSuffix(".json") {
                let body = try Data(contentsOf: folder.appending(path: file))
                let ending = await Self.ending(of: JSONRequest.self, body)
                #expect(ending == .success || ending == .failure(.decoding) && !file.hasPrefix("y_"), "\(file)")
            }
        }
    }
    #endif

    private static func expectOneEnding(of body: String) async {
        for shape in ["\(body)", #"{"errcode":200,"data":\#(body)}"#] {
            let endings = [
                await ending(of: JSONRequest.self, Data(shape.utf8)),
                await ending(of: GoodsRequest.self, Data(shape.utf8), .sample()),
                await ending(of: TextRequest.self, Data(shape.utf8), .sample()),
                await ending(of: NothingRequest.self, Data(shape.utf8), .sample()),
            ]
            #expect(endings.allSatisfy { $0 == .success || $0 == .failure(.decoding) }, "\(body.prefix(40))")
        }
    }

    /// How a load of `body` ends, for a service without an envelope or another one.
    private static func ending<Request: SampleRequest & APIManager>(
        of type: Request.Type,
        _ body: Data,
        _ service: APIService = .sample { $0.envelope = nil }
    ) async -> Screen.Event? {
        let response = HTTPResponse(status: 200, headers: ["Content-Type": "application/json"], body: body)
        let screen = Screen()
        let proxy = APIProxy(fake: ScriptedTransport { _ in response }, service: service)
        let request = Request(delegate: screen, proxy: proxy)
        request.loadData()
        let ending = await screen.ending()
        await sentinel(proxy)
        #expect(screen.events.count == 1)
        return ending
    }

    @Test(
        .fault(58),
        arguments: [
            ("text/plain; charset=gbk", [0xC1, 0xFA, 0x61], "\u{FFFD}\u{FFFD}a"),
            ("text/plain; charset=utf-16", [0xFF, 0xFE, 0x61, 0x00], "\u{FFFD}\u{FFFD}a\u{0}"),
            ("text/plain; charset=\"", Array("龙井".utf8), "龙井"), ("text/plain", [0x61, 0xFF, 0x62], "a\u{FFFD}b"),
            ("text/plain", [0x61, 0xE9, 0xBE], "a\u{FFFD}"), ("text/plain", [0x61, 0x00, 0x62], "a\u{0}b"),
            ("text/plain", [0xED, 0xA0, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"), ("", [0x61], "a"),
            ("text/csv", [0xEF, 0xBB, 0xBF, 0x61, 0xEF, 0xBB, 0xBF], "a\u{FEFF}"), ("", [0xEF, 0xBB, 0xBF], ""),
        ] as [(String, [UInt8], String)]
    )
    func `Text is decoded as UTF-8 with replacement characters, and its bytes are kept`(
        _ contentType: String,
        _ bytes: [UInt8],
        _ text: String
    ) async throws {
        let response = HTTPResponse(status: 200, headers: ["Content-Type": contentType], body: Data(bytes))
        let request = TextRequest(proxy: APIProxy(fake: ScriptedTransport { _ in response }))
        #expect(Array(try await request.value().utf8) == Array(text.utf8))
        #expect(request.rawResponse?.body == Data(bytes))
    }

    @Test(.fault(58)) func `JSON is decoded as UTF-8, and fails otherwise`() async throws {
        let type: HTTPHeaders = ["Content-Type": "application/json; charset=iso-8859-1"]
        let right = HTTPResponse(status: 200, headers: type, body: Data(goodsJSON([Goods(id: 1, name: "茶")]).utf8))
        let goods = try await GoodsRequest(proxy: APIProxy(fake: ScriptedTransport { _ in right })).value()
        #expect(goods.map(\.name) == ["茶"])
        let latinBody = Data(#"{"errcode":200,"data":""#.utf8 + [0xFC] + #""}"#.utf8)
        let latin = HTTPResponse(status: 200, headers: type, body: latinBody)
        let request = TextRequest(proxy: APIProxy(fake: ScriptedTransport { _ in latin }))
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .decoding)
        #expect(error?.response?.body == latin.body)
    }
}

/// Texts with deep nesting, large numbers, and ambiguous syntax.
private let hardlyJSON =
    [
        String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000),
        String(repeating: "[", count: 100_000),
        String(repeating: #"{"a":"#, count: 100_000) + "1" + String(repeating: "}", count: 100_000),
        String(repeating: #"[{"a":"#, count: 100_000), "1" + String(repeating: "0", count: 100_000),
        "0." + String(repeating: "1", count: 100_000), "1e400", "-1e400", "1e-400", "1e99999999999999999999",
        #"{"errcode":200,"errcode":500,"data":[],"data":1}"#, #"{"a":1,"a":"b"}"#, #""\uD800""#, #""\uDC00\uD800""#,
        #"{"\uD800":1}"#, #""\uD800x""#, #""\u00"#, "\u{FEFF}[]", "\u{FEFF}{}", "[\u{0}]", "\"\u{0}\"", #""\u0000""#,
        #"{"\u0000":1}"#, "\u{0}", "", " ", "[1,]", "nul", "NaN", "Infinity", "-", "\"\u{1}\"",
    ]
