import Errand
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
            "lenient_ratio": lenient / typed, "converted_ratio": converted / typed,
            "json_mb": Double(mixed.count) / 1e6, "value_ms": value * 1_000, "foundation_ms": foundation * 1_000,
            "value_ratio": value / foundation, "response_ratio": response / foundation,
            "member_ratio": member / foundation,
            "deep_ratio": try await deepRatio(numbers: order.bytes / 100), "peak_rss_mb": Memory.peak,
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
