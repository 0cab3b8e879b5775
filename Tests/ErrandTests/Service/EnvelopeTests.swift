import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Envelopes of services and of requests", .hangLimit, .timeLimit(.minutes(10)))
struct EnvelopeTests {
    /// A request after one load, whose response is `body`.
    private func loaded<Request: SampleRequest & APIManager>(
        _ type: Request.Type,
        _ body: String,
        status: Int = 200,
        envelope: Envelope? = nil,
        service: APIService = .sample()
    ) async -> Request {
        let transport = ScriptedTransport { _ in .json(body, status: status) }
        let request = Request(proxy: APIProxy(fake: transport, service: service))
        request.ownOptions.envelope = envelope
        _ = try? await request.value()
        return request
    }

    private func envelope(_ change: (inout Envelope) -> Void) -> Envelope {
        var envelope = Envelope()
        change(&envelope)
        return envelope
    }

    @Test(
        arguments: [
            ("0", 0), (#""0""#, 0), (#""OK""#, "OK"), (#""00000""#, "00000"), ("true", true), ("4.5", "4.5"),
            ("-1", -1),
        ] as [(String, ServerCode)]
    )
    func `A code is a number, a string or a Boolean`(_ json: String, _ code: ServerCode) async {
        let own = envelope { $0.successCodes = [code] }
        let success = await loaded(GoodsRequest.self, #"{"errcode":\#(json),"data":[]}"#, envelope: own)
        #expect(success.response == [])
        #expect(success.serverCode == code)
        let failure = await loaded(GoodsRequest.self, #"{"errcode":\#(json),"msg":"no","data":7}"#)
        #expect(failure.errorType == .server)
        #expect(failure.error?.code == code)
        #expect(failure.error?.message == "no")
    }

    @Test func `A login-expired code may be of any kind`() async {
        for (json, code) in [("7", 7), (#""E401""#, "E401"), ("false", false)] as [(String, ServerCode)] {
            let service = APIService.sample { $0.envelope?.loginExpiredCodes = [code] }
            let body = #"{"errcode":\#(json),"msg":"sign in"}"#
            #expect(await loaded(GoodsRequest.self, body, service: service).errorType == .loginExpired)
            #expect(await loaded(NothingRequest.self, body, status: 403, service: service).errorType == .loginExpired)
        }
    }

    @Test(arguments: [[true], ["OK"]] as [Set<ServerCode>])
    func `A Boolean beside the code may decide about success, whatever the codes of a success are`(
        _ successCodes: Set<ServerCode>
    ) async {
        let own = envelope {
            ($0.codeKey, $0.successKey, $0.messageKey, $0.successCodes) = ("code", "success", "message", successCodes)
        }
        let refusal = #"{"code":"E1001","success":false,"message":"售罄","data":7}"#
        let failure = await loaded(GoodsRequest.self, refusal, envelope: own)
        #expect(failure.errorType == .server)
        #expect(failure.error?.code == "E1001")
        #expect(failure.error?.message == "售罄")
        #expect(failure.error?.description == "server, POST /goods, HTTP 200, code E1001")
        let success = await loaded(GoodsRequest.self, #"{"success":true,"message":"hi","data":[]}"#, envelope: own)
        #expect(success.response == [])
        #expect(success.serverCode == nil)
        #expect(success.serverMessage == "hi")
    }

    @Test(arguments: [false, true]) func `A key may be a path`(_ isSnakeCase: Bool) async {
        let service = APIService.sample { if isSnakeCase { $0.decoder.keyDecodingStrategy = .convertFromSnakeCase } }
        let own = envelope {
            ($0.codeKey, $0.messageKey, $0.dataKey) = ("meta.err_code", "meta.msg", "data.goods_page")
        }
        let goods = #"{"meta":{"err_code":200,"msg":"ok"},"data":{"goods_page":[{"id":1,"name":"茶"}]}}"#
        let success = await loaded(GoodsRequest.self, goods, envelope: own, service: service)
        #expect(success.response == [Goods(id: 1, name: "茶")])
        #expect(success.serverMessage == "ok")
        let json = await loaded(JSONRequest.self, goods, envelope: own, service: service)
        #expect(json.response?[0]?["id"] == .int(1))
        for data in ["null", "7", #"{"goods_page":"no"}"#] {
            let refusal = #"{"meta":{"err_code":5,"msg":"no"},"data":\#(data)}"#
            let failure = await loaded(GoodsRequest.self, refusal, envelope: own, service: service)
            #expect(failure.errorType == .server)
            #expect(failure.error?.code == 5)
        }
        let literal = envelope { $0.dataKey = "data.page" }
        #expect(await loaded(GoodsRequest.self, #"{"errcode":200,"data.page":[]}"#, envelope: literal).response == [])
    }

    @Test func `A path that ends early has no data`() async {
        let own = envelope { $0.dataKey = "data.page" }
        for body in [#"{"errcode":200}"#, #"{"errcode":200,"data":null}"#, #"{"errcode":200,"data":{}}"#] {
            let failure = await loaded(GoodsRequest.self, body, envelope: own)
            #expect(failure.errorType == .decoding)
            #expect(failure.error?.description.contains("no data.page to decode") == true)
            let optional = await loaded(OptionalGoods.self, body, envelope: own)
            #expect(optional.error == nil)
        }
        let wrong = await loaded(OptionalGoods.self, #"{"errcode":200,"data":[7]}"#, envelope: own)
        #expect(wrong.errorType == .decoding)
        let codes = envelope { $0.codeKey = "meta.code" }
        let missing = await loaded(GoodsRequest.self, #"{"meta":{}}"#, envelope: codes)
        let reason =
            "the response is not in the service's envelope (no meta.code); "
            + "a service without one has the `envelope` nil, and a request `.wholeBody`"
        #expect(missing.error?.description == "decoding, POST /goods, HTTP 200, \(reason)")
    }

    @Test func `Without a code key each accepted response is a success`() async {
        let own = envelope { $0.codeKey = nil }
        let success = await loaded(GoodsRequest.self, #"{"errcode":9,"msg":"hi","data":[]}"#, envelope: own)
        #expect(success.response == [])
        #expect(success.serverCode == nil)
        #expect(success.serverMessage == "hi")
        #expect(await loaded(GoodsRequest.self, #"{"msg":"no"}"#, status: 500, envelope: own).error?.message == "no")
    }

    @Test func `Without a data key the whole object is decoded`() async {
        let own = envelope { $0.dataKey = nil }
        let success = await loaded(OptionalGoods.self, #"{"errcode":200,"id":1,"name":"a"}"#, envelope: own)
        #expect(success.response == Goods(id: 1, name: "a"))
        #expect(success.serverCode == 200)
        #expect(await loaded(OptionalGoods.self, #"{"errcode":5}"#, envelope: own).error?.code == 5)
    }

    @Test func `A request's envelope replaces that of the service, and may be none`() async {
        let service = APIService.sample { $0.envelope?.successCodes = [0] }
        let own = envelope { ($0.codeKey, $0.successCodes) = ("code", ["OK"]) }
        let body = #"{"code":"OK","data":[]}"#
        #expect(await loaded(GoodsRequest.self, body, envelope: own, service: service).response == [])
        #expect(await loaded(GoodsRequest.self, body, service: service).errorType == .decoding)
        let whole = await loaded(GoodsRequest.self, "[]", envelope: .wholeBody, service: service)
        #expect(whole.response == [])
        #expect(await loaded(DataRequest.self, #"{"errcode":9}"#, envelope: .wholeBody).error == nil)
        #expect(await loaded(TextRequest.self, #"{"a":1}"#, envelope: .wholeBody).response == #"{"a":1}"#)
        #expect(await loaded(GoodsRequest.self, #"{"errcode":0,"data":[]}"#, service: service).response == [])
    }

    @Test func `Without an envelope the login-expired codes of the service apply to what a reader finds`() async {
        let service = APIService.sample {
            $0.envelope?.loginExpiredCodes = ["TOKEN_EXPIRED"]
            $0.failureReader = .keys(code: "code", message: "msg")
        }
        let body = #"{"code":"TOKEN_EXPIRED"}"#
        let request = await loaded(GoodsRequest.self, body, status: 403, envelope: .wholeBody, service: service)
        #expect(request.errorType == .loginExpired)
    }

    @Test func `Without any envelope there are no login-expired codes`() async {
        let service = APIService.sample {
            $0.envelope = nil
            $0.failureReader = .keys(code: "code", message: "msg")
        }
        for envelope in [nil, Envelope.wholeBody] {
            let body = #"{"code":11010}"#
            let request = await loaded(GoodsRequest.self, body, status: 400, envelope: envelope, service: service)
            #expect(request.errorType == .http)
        }
    }

    @Test func `The code and message of a success are readable, whatever the type`() async {
        let body = #"{"errcode":201,"msg":"已保存","data":"inside"}"#
        let service = APIService.sample { $0.envelope?.successCodes = [201] }
        for request in [
            await loaded(TextRequest.self, body, service: service),
            await loaded(DataRequest.self, body, service: service),
            await loaded(NothingRequest.self, body, service: service),
            await loaded(JSONRequest.self, body, service: service),
        ] as [BaseAPIRequest] {
            #expect(request.error == nil)
            #expect(request.serverCode == 201)
            #expect(request.serverMessage == "已保存")
            #expect(request.errorType == nil)
        }
    }

    @Test func `The code and message are those of the newest response`() async throws {
        let bodies = [#"{"errcode":200,"msg":"first","data":[]}"#, #"{"errcode":5,"msg":"second"}"#]
        let count = Counter()
        let transport = ScriptedTransport { _ throws(TransportError) in
            let index = count.next() - 1
            guard bodies.indices.contains(index) else { throw TransportError(.timeout, "late") }
            return .json(bodies[index])
        }
        let request = GoodsRequest(proxy: APIProxy(fake: transport))
        for (message, code) in [("first", 200), ("second", 5), ("second", 5)] as [(String, ServerCode)] {
            _ = try? await request.value()
            #expect(request.serverMessage == message)
            #expect(request.serverCode == code)
        }
        #expect(request.errorType == .timeout)
        #expect(request.response == [])
    }

    @Test(arguments: ["18446744073709551615", "10000000000000000000", "1.5", "-7"])
    func `A code is the same however its number is read`(number: String) throws {
        let body = Data(#"{"code":\#(number)}"#.utf8)
        #expect(try JSONDecoder().decode([String: ServerCode].self, from: body)["code"] == ServerCode(number))
        #expect(try ServerCode(in: JSONValue(json: body), at: "code") == ServerCode(number))
    }

    @Test func `A code may be a fraction in another format`() throws {
        let list = try PropertyListEncoder().encode(["code": 1.5])
        #expect(try PropertyListDecoder().decode([String: ServerCode].self, from: list)["code"] == "1.5")
    }

    @Test func `A code is the same as a string that is written as its number`() {
        #expect(ServerCode("200") == 200)
        #expect(ServerCode("0200") != 200)
        #expect((true as ServerCode) != 1)
        #expect(Set<ServerCode>([1, "1", "a", true]).count == 3)
        #expect(ServerCode(-7).text == "-7")
        #expect("\("E1001" as ServerCode)" == "E1001")
        #expect("\("a secret: 1" as ServerCode)" == "*")
        for code in [
            "SUCCESS", "ERR_4001", "A0001", "user.not-found", "urn:problem:out-of-credit", "https://a.test/problems/7",
            "ProvisionedThroughputExceededException", "invalidRequest", "20261128",
        ] {
            #expect("\(ServerCode(code))" == code)
        }
        for secret in [
            "eyJhbGciOiJIUzI1NiJ9.q7w8e9r0t1y2u3i4o5p6", "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
            "sk_live_51H8xQ2eZvKYlo2C",
            "d41d8cd98f00b204e9800998ecf8427e", "AKIAIOSFODNN7EXAMPLE/wJalrXUtnFEMI",
        ] {
            #expect("\(ServerCode(secret))" == "*")
        }
        #expect("\(ServerCode(String(repeating: "a", count: 65)))" == "*")
    }
}

private final class OptionalGoods: SampleRequest, APIManager {
    typealias Response = Goods?
}
