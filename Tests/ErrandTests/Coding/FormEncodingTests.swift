import ErrandTesting
import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Queries and forms follow the WHATWG serializer", .timeLimit(.minutes(10)))
struct FormEncodingTests {
    struct Vector: Decodable {
        let test: String
        let pairs: [[String]]
        let expected: String
    }

    @Test(.enabled(if: SharedData.urlencoded.exists, "the conformance data is not here"))
    func `All vectors of web-platform-tests hold`() throws {
        let vectors: [Vector] = try SharedData.urlencoded.json("urlencoded-serialize.json")
        #expect(vectors.count == 32)
        for vector in vectors {
            let pairs = vector.pairs.map { FormEncoding.Pair(name: $0[0], value: $0[1]) }
            #expect(FormEncoding.serialize(pairs) == vector.expected, "\(vector.test)")
        }
    }

    @Test func `Every ASCII character but those of the form set is percent-encoded`() {
        // The application/x-www-form-urlencoded percent-encode set of WHATWG, from its other side.
        let safe = "*-._0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        for byte in UInt8(0)...0x7f {
            let character = String(UnicodeScalar(byte))
            let hex = String(byte, radix: 16, uppercase: true)
            let triplet = "%" + (byte < 0x10 ? "0" : "") + hex
            let expected = character == " " ? "+" : safe.contains(character) ? character : triplet
            let pair = FormEncoding.Pair(name: character, value: "a\(character)")
            #expect(FormEncoding.serialize([pair]) == "\(expected)=a\(expected)", "byte \(hex)")
        }
    }

    @Test(.fault(64)) func `Nested names, arrays and scalars have one documented form, sorted by name`() throws {
        let params: APIParams = [
            "z": true, "a": ["y": 1, "x": ["k": "v"]] as [String: JSONValueOrInt], "list": [3, 1, 2],
            "none": String?.none, "text": "a b&c=ü",
        ]
        let tree = try params.tree(with: APIService.sample().encoder)
        let text = FormEncoding.serialize(try FormEncoding.pairs(of: tree))
        let plain = try #require(text.removingPercentEncoding)
        #expect(plain == "a[x][k]=v&a[y]=1&list[]=3&list[]=1&list[]=2&text=a+b&c=ü&z=true")
        #expect(text.hasSuffix("text=a+b%26c%3D%C3%BC&z=true"))
    }

    @Test(
        .fault(64),
        arguments: [
            (Int64.max as any Encodable & Sendable, "9223372036854775807"), (Int64.min, "-9223372036854775808"),
            (UInt64.max, "18446744073709551615"),
            (UInt64(10_000_000_000_000_000_000), "10000000000000000000"), (-1e19, "-10000000000000000000"),
            (0.1, "0.1"), (1e300, "1e+300"), (1.0, "1"), (false, "false"),
            (Decimal(string: "12345678901234567890.12") ?? 0, "12345678901234567890.12"),
            (Date(timeIntervalSince1970: 0), "1970-01-01T00:00:00Z"), ("", ""), ("é\u{0}\n", "é\u{0}\n"),
        ]
    )
    func `A scalar keeps its value to the last digit`(_ value: any Encodable & Sendable, _ expected: String) throws {
        let tree = try APIParams(["v": value]).tree(with: APIService.sample().encoder)
        #expect(try FormEncoding.pairs(of: tree).map(\.value) == [expected])
    }

    @Test(.fault(64)) func `Equal parameters give equal bytes`() throws {
        let texts = try (0..<20).map { _ in
            let values = Dictionary(
                uniqueKeysWithValues: (0..<50).map { (number: Int) in
                    ("k\(number)", number as APIParams.Value)
                }
            )
            return try APIParams(values).json(with: APIService.sample().encoder)
        }
        #expect(Set(texts).count == 1)
    }

    @Test(.fault(64), arguments: [Double.nan, .infinity, -.infinity])
    func `A number that JSON does not have is refused`(_ value: Double) {
        let encoder = APIService.sample().encoder
        let error = #expect(throws: APIError.self) { try APIParams(["v": value]).tree(with: encoder) }
        #expect(error?.type == .invalidRequest)
    }

    @Test func `Parameters without names are a body, never a query`() throws {
        let params = APIParams(encoding: [1, 2, 3])
        #expect(String(decoding: try params.json(with: APIService.sample().encoder), as: UTF8.self) == "[1,2,3]")
        #expect(throws: APIError.self) { try FormEncoding.pairs(of: params.tree(with: APIService.sample().encoder)) }
    }
}

/// A dictionary's value that is a number or a dictionary.
enum JSONValueOrInt: Encodable, Sendable, ExpressibleByIntegerLiteral, ExpressibleByDictionaryLiteral {
    case int(Int)
    case members([String: String])

    init(integerLiteral value: Int) { self = .int(value) }
    init(dictionaryLiteral elements: (String, String)...) { self = .members(Dictionary(elements) { $1 }) }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .int(let value): try value.encode(to: encoder)
        case .members(let members): try members.encode(to: encoder)
        }
    }
}
