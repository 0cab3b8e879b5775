import Errand
import ErrandSigning
import ErrandTesting
import Foundation

/// The cost of JSON of unknown shape: CPU time, divided by that of `JSONSerialization` for the same text; and that of a lenient
/// decoder, divided by that of an exact one.
struct JSONCosts: Workload {
    private static let rounds = 5
    private static let containers = [("[", "]"), (#"{"a":"#, "}"), (#"[{"a":"#, "}]")]

    func run(_ order: Order) async throws -> Measurement {
        let mixed = Self.mixed(bytes: order.bytes)
        let foundation = try await cost { try JSONSerialization.jsonObject(with: mixed) }
        let value = try await cost { try JSONValue(json: mixed) }
        let response = try await cost(of: { AnyRequest(proxy: $0) }, mixed)
        let member = try await cost(
            of: { MemberRequest(proxy: $0) },
            Data(#"{"id":1,"extra":"#.utf8) + mixed + Data("}".utf8)
        )
        let exact = Self.records(bytes: order.bytes, quote: "")
        let typed = try await cost { try JSONDecoder().decode([Record].self, from: exact) }
        let lenient = try await cost { try JSONDecoder.lenient.decode([Record].self, from: exact) }
        let loose = Self.records(bytes: order.bytes, quote: "\"")
        let converted = try await cost { try JSONDecoder.lenient.decode([Record].self, from: loose) }
        return [
            .lenientRatio: lenient / typed, .convertedRatio: converted / typed,
            .jsonSize: Double(mixed.count), .value: value, .foundation: foundation,
            .valueRatio: value / foundation, .responseRatio: response / foundation, .memberRatio: member / foundation,
            .deepRatio: try await deepRatio(numbers: order.bytes / 100), .peakMemory: Memory.peak,
        ]
    }

    /// A text of objects with all kinds of values.
    private static func mixed(bytes: Int) -> Data {
        var (text, id) = ("[", 0)
        while text.utf8.count < bytes {
            id += 1
            let numbers = #""price":\#(Double(id) / 8),"change":-1.5e-3,"total":1234567890123456789\#(id).25"#
            let others = #""isNew":\#(id % 2 == 0),"none":null,"tags":["a","b\n","\u8336"],"size":{"x":[1,2],"y":[]}"#
            text += (id > 1 ? "," : "") + #"{"id":\#(id),"name":"宜兴紫砂壶 \#(id)",\#(numbers),\#(others)}"#
        }
        return Data((text + "]").utf8)
    }

    private struct Record: Decodable {
        let id: Int
        let name: String
        let price: Double
        let isNew: Bool
        let tags: [String]
    }

    /// A text of records, whose numbers and Booleans are strings with a quotation mark.
    private static func records(bytes: Int, quote: String) -> Data {
        let list = (0..<bytes / 100).map { id in
            let numbers = #""id":\#(quote)\#(id)\#(quote),"price":\#(quote)\#(Double(id) / 8)\#(quote)"#
            return #"{\#(numbers),"isNew":\#(quote)true\#(quote),"name":"宜兴紫砂壶 \#(id)","tags":["a","b"]}"#
        }
        return Data("[\(list.joined(separator: ","))]".utf8)
    }

    /// Returns the maximum ratio over all depths, for numbers inside nested arrays and objects.
    private func deepRatio(numbers: Int) async throws -> Double {
        let list = (0..<numbers).map(String.init).joined(separator: ",")
        var worst = 0.0
        for depth in [1, 64, 256, 510] {
            for (begin, end) in Self.containers {
                let count = depth / begin.utf8.count { "[{".utf8.contains($0) }
                let (head, tail) = (String(repeating: begin, count: count), String(repeating: end, count: count))
                let text = Data("\(head)[\(list)]\(tail)".utf8)
                let foundation = try await cost { try JSONSerialization.jsonObject(with: text) }
                worst = max(worst, try await cost(of: { AnyRequest(proxy: $0) }, text) / foundation)
            }
        }
        return worst
    }

    /// Returns the cost of a load whose response has this data.
    private func cost(of make: (APIProxy) -> some APIManager, _ data: Data) async throws -> Double {
        let response = HTTPResponse(status: 200, body: Data(#"{"errcode":200,"data":"#.utf8) + data + Data("}".utf8))
        let network = ScriptedTransport(keepsRequests: false) { _ in response }
        let request = make(APIProxy(service: Scripted.service, transport: network))
        return try await cost { try await request.value() }
    }

    /// Returns the median CPU time of several turns, in seconds.
    private func cost(_ work: () async throws -> Any) async throws -> Double {
        var seconds: [Double] = []
        for _ in 0..<Self.rounds {
            let meter = Meter()
            let result = try await work()
            seconds.append(meter.cpuSeconds)
            withExtendedLifetime(result) {}
        }
        return seconds.median
    }
}

private final class AnyRequest: BaseAPIRequest, APIManager {
    typealias Response = JSONValue
    let path = "/any"
    let method = HTTPMethod.get
}

private final class MemberRequest: BaseAPIRequest, APIManager {
    struct Response: Decodable, Sendable {
        let id: Int
        let extra: JSONValue
    }

    let path = "/member"
    let method = HTTPMethod.get
}

/// The costs of adapters, in CPU time: of signatures, of sealing, and of a load with and without adapters.
///
/// No build is without the places of the adapters, so `none_us` shows what these cost only when it is compared with that of
/// another build, in turns.
@MainActor struct AdapterCosts: Workload {
    private static let bytes = 2_048

    /// How many turns of calls have the median of a cost; `--quick`, which has few calls, only shows that the row works.
    nonisolated private static func rounds(of calls: Int) -> Int { calls < 5_000 ? 1 : 5 }

    func run(_ order: Order) async throws -> Measurement {
        let storm = try await KeyStorm().run(order)
        let calls = order.requests / 2
        let (param, aws) = (try await paramSignature(calls), try await awsSignature(calls))
        let (none, adapted) = try await loads(order.requests < 10_000 ? order.requests : 5 * order.requests)
        let costs: Measurement = [
            .sign: max(param, aws), .signParams: param, .signAWS: aws,
            .seal: try await sealing(calls), .unadapted: none, .adapted: adapted,
        ]
        return costs.merging(storm) { $1 }
    }

    /// Returns the cost of an HMAC-SHA-256 of 2 KB of parameters.
    private func paramSignature(_ calls: Int) async throws -> Double {
        var service = Scripted.service
        let signing = ParamSigning(secret: "0123456789abcdef", algorithm: .hmacSHA256, into: .parameter("sign"))
        service.sign(with: signing)
        let signers = service.adapters.params
        // As a literal has them; an object is encoded once more to be signed.
        var values: [String: APIParams.Value] = [:]
        for index in 0..<16 { values["name\(index)"] = String(repeating: "x", count: Self.bytes / 16) }
        let params = APIParams(values)
        let send = try await AdaptedSend(service, params: params)
        return try await cost(of: calls) {
            var params = send.params.subject
            for signer in signers { try await signer.adapt(&params, send.params.context) }
        }
    }

    /// Returns the cost of AWS Signature Version 4 of a request with a body of 2 KB.
    private func awsSignature(_ calls: Int) async throws -> Double {
        var service = Scripted.service
        service.sign(
            with: AWSSignature(region: "us-east-1", service: "execute-api") {
                AWSCredentials(accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
            }
        )
        // The first one prepares the query.
        let signers = service.adapters.request
        let send = try await AdaptedSend(service, params: Self.body)
        return try await cost(of: calls) {
            var request = send.request.subject
            for signer in signers { try await signer.adapt(&request, send.request.context) }
        }
    }

    /// Returns the cost of sealing a body of 2 KB and of opening another one.
    private func sealing(_ calls: Int) async throws -> Double {
        var service = Scripted.service
        service.seal(with: TrafficSealing(cipher: .aesGCM, keyExchange: ScriptedKeys(), expiredCodes: [4_011]))
        let (sealer, opener) = (service.adapters.request[0], service.adapters.response[0])
        let send = try await AdaptedSend(service, params: Self.body) { try ScriptedKeys.goods(for: $0) }
        return try await cost(of: calls) {
            var (request, response) = (send.request.subject, send.response.subject)
            try await sealer.adapt(&request, send.request.context)
            try await opener.adapt(&response, send.response.context)
        }
    }

    /// Parameters whose JSON is a body of 2 KB.
    private static let body: APIParams = ["text": String(repeating: "x", count: bytes - 11)]

    /// Returns the costs of a load without adapters, and of one with three that change nothing, measured in turns.
    private func loads(_ count: Int) async throws -> (none: Double, adapted: Double) {
        var adapted = Scripted.service
        adapted.adapters.params = [Adapter { _, _ in }]
        adapted.adapters.request = [Adapter { _, _ in }]
        adapted.adapters.response = [Adapter { _, _ in }]
        let order = Order(requests: count, concurrency: 64)
        var (none, three): ([Double], [Double]) = ([], [])
        for _ in 0..<Self.rounds(of: count) {
            none.append(try await ScriptedLoads().run(order)[.cpuPerLoad] ?? .nan)
            three.append(try await ScriptedLoads(adapted).run(order)[.cpuPerLoad] ?? .nan)
        }
        return (none.median, three.median)
    }

    /// Returns the median of the CPU time of one call, in seconds; off the main actor, as adapters are called.
    @concurrent nonisolated private func cost(
        of calls: Int,
        _ work: @Sendable () async throws -> Void
    ) async throws -> Double {
        var costs: [Double] = []
        for _ in 0..<Self.rounds(of: calls) {
            let meter = Meter()
            for _ in 0..<calls { try await work() }
            costs.append(meter.cpuSeconds / Double(calls))
        }
        return costs.median
    }
}

/// What adapters are called with for a send, so that they can be called again and again without a load.
private struct AdaptedSend: Sendable {
    typealias Call<Subject: Sendable> = (subject: Subject, context: AdapterContext)

    private struct Calls {
        var params: Call<APIParams?>?
        var request: Call<HTTPRequest>?
        var response: Call<APIResponse>?
    }

    let params: Call<APIParams?>
    let request: Call<HTTPRequest>
    let response: Call<APIResponse>

    /// Sends a load, and keeps what reaches the adapters of the service before they change it.
    init(
        _ service: APIService,
        params: APIParams,
        respond: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse = { _ in Scripted.nothing }
    ) async throws {
        let calls = Lock(Calls())
        var service = service
        service.adapters.params.insert(
            Adapter { params, context in
                calls.withLock { [params] in $0.params = (params, context) }
            },
            at: 0
        )
        service.adapters.request.insert(
            Adapter { request, context in
                calls.withLock { [request] in $0.request = (request, context) }
            },
            at: 0
        )
        service.adapters.response.insert(
            Adapter { response, context in
                calls.withLock { [response] in $0.response = (response, context) }
            },
            at: 0
        )
        let network = ScriptedTransport(keepsRequests: false) { try respond($0) }
        try await PostRequest(proxy: APIProxy(service: service, transport: network)).value(params: .given(params))
        let made = calls.withLock { $0 }
        guard let params = made.params, let request = made.request, let response = made.response else {
            throw BenchFailure("an adapter was not called")
        }
        (self.params, self.request, self.response) = (params, request, response)
    }
}

/// A request with a body, whose response has no data.
private final class PostRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/nothing"
    let method = HTTPMethod.post
}
