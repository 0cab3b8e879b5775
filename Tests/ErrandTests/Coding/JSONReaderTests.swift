import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Exact parsing of JSON", .timeLimit(.minutes(10)))
struct JSONReaderTests {
    private static let seeds: Range<UInt64> = CookieProbe.runsSlowTests ? 0..<20 : 0..<6

    @Test(.fault(54), arguments: seeds) func `A text of any shape and depth is parsed`(_ seed: UInt64)
        throws
    {
        var random = SplitMix(seed: seed)
        for _ in 0..<200 {
            let sample = JSONSample.sample(depth: .random(in: 0...6, using: &random), using: &random)
            let depth = Int.random(in: 0...100, using: &random)
            let nested = JSONSample.nested(sample, depth: depth, using: &random)
            #expect(try JSONValue(json: nested.data) == nested.value, "\(nested.text)")
            #expect(try JSONValue(json: Data("\u{FEFF} \n\(nested.text)\t".utf8)) == nested.value)
        }
    }

    @Test(.fault(54), arguments: seeds) func `A text with an error is refused where Foundation refuses it`(
        _ seed: UInt64
    ) {
        var random = SplitMix(seed: seed)
        let alphabet = Array("[]{},:\"\\0123456789.-+eEtrufalsn/ \u{1}".utf8)
        for _ in 0..<500 {
            var bytes = Array(JSONSample.sample(depth: 4, using: &random).text.utf8)
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let place = Int.random(in: 0...bytes.count, using: &random)
                let letter = alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
                if place < bytes.count, Bool.random(using: &random) {
                    bytes[place] = letter
                } else {
                    bytes.insert(letter, at: place)
                }
            }
            let isRead = (try? JSONValue(json: Data(bytes))) != nil
            let isJSON = (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
            #expect(isRead == isJSON, "\(String(decoding: bytes, as: UTF8.self))")
        }
    }

    @Test(.fault(54), arguments: seeds) func `A truncated text is refused`(_ seed: UInt64) {
        var random = SplitMix(seed: seed)
        let text = JSONSample.array([.sample(depth: 4, using: &random)]).data
        for length in 0..<text.count {
            #expect(throws: DecodingError.self) { try JSONValue(json: text.prefix(length)) }
        }
    }

    @Test(.fault(54), .enabled(if: SharedData.jsonTestSuite.exists, "the conformance data is not here"))
    func `The JSON test suite passes, except for the trailing commas that Foundation accepts`() throws {
        let folder = SharedData.jsonTestSuite.folder.appending(path: "test_parsing")
        let lenient = ["n_array_extra_comma", "n_array_number_and_comma", "n_object_trailing_comma"].map {
            $0 + ".json"
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
        #expect(files.count > 250)
        for file in files {
            let value = try? JSONValue(json: Data(contentsOf: folder.appending(path: file)))
            #expect((value != nil) == (file.hasPrefix("y_") || lenient.contains(file)), "\(file)")
        }
    }

    @Test(
        arguments: [
            ("0", .int(0)), ("-0", .double(-0.0)), ("-0.0", .double(-0.0)), ("1.0", .int(1)), ("1e2", .int(100)),
            ("120e-1", .int(12)),
            ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)),
            ("1e18", .int(1_000_000_000_000_000_000)),
            ("9007199254740993.0", .int(9_007_199_254_740_993)),
            ("1.00000000000000000000000000000000000000000000", .int(1)),
            ("0.1", .double(0.1)), ("5e-324", .double(.leastNonzeroMagnitude)),
            ("4.9e-324", .double(.leastNonzeroMagnitude)), ("1e19", .double(1e19)),
            ("10000000000000000000", .double(1e19)), ("1.7976931348623157e308", .double(1.7976931348623157e308)),
            ("0.30000000000000004", .double(0.30000000000000004)), ("1e-400", .int(0)), ("-1e-400", .int(0)),
            ("12345678901234567e150", .double(1.2345678901234567e166)),
        ] as [(String, JSONValue)]
    )
    func `An exact number is an integer or a double`(_ text: String, _ value: JSONValue) throws {
        #expect(try JSONValue(json: Data(text.utf8)) == value)
    }

    @Test(arguments: [
        "9223372036854775808", "-9223372036854775809", "18446744073709551615", "9007199254740993.5",
        "1.0000000000000001",
        "12345678901234567890.123", "0.10000000000000000555", "1234567890123456789012345678901234567890",
        "-0.12345678901234567",
        "340282366920938463463374607431768211455", "340282366920938463463374607431768211455e-30",
    ])
    func `Any other number is a decimal`(_ text: String) throws {
        let decimal = try #require(Decimal(string: text))
        #expect(try JSONValue(json: Data(text.utf8)) == .decimal(decimal))
    }

    @Test(
        .fault(54),
        arguments: ["1e400", "-1e400", "1e99999999999999999999", "1" + String(repeating: "0", count: 100_000)]
    )
    func `A number outside the range of doubles is refused`(_ text: String) {
        #expect(throws: DecodingError.self) { try JSONValue(json: Data("[\(text)]".utf8)) }
    }

    @Test(.fault(54)) func `The first of two members with one name is used, as by a decoder`() throws {
        let text = Data(#"{"a":1,"b":2,"a":"c","\u0061":3}"#.utf8)
        #expect(try JSONValue(json: text) == .object(["a": .int(1), "b": .int(2)]))
        #expect(try JSONDecoder().decode([String: JSONValue].self, from: text) == ["a": .int(1), "b": .int(2)])
    }

    @Test(
        .fault(54),
        arguments: [
            #""\uD800""#, #""\uDC00""#, #""\uD800x""#, #""\uD800\u0041""#, #""\uD800\n""#, #"{"\uDFFF":1}"#,
            "\u{FEFF}\u{FEFF}[]",
            "[\u{0}]", "1\u{0}", "\"\u{0}\"", "\"\u{1F}\"", #""\u00""#, #""\u+0041""#, #""\x""#, "",
        ]
    )
    func `Half a surrogate, two byte order marks and bare control characters are refused`(_ text: String) {
        #expect(throws: DecodingError.self) { try JSONValue(json: Data(text.utf8)) }
    }

    @Test(
        .fault(54),
        arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE8, 0x8C]]
    )
    func `A string that is not UTF-8 is refused`(_ bytes: [UInt8]) {
        for (begin, end) in [(#"""#, #"""#), (#"["\n"#, #""]"#)] {
            let text = Data(begin.utf8) + Data(bytes) + Data(end.utf8)
            #expect(throws: DecodingError.self) { try JSONValue(json: text) }
        }
    }

    @Test(.fault(84), arguments: [1, 2, 511, 512, 513, 100_000])
    func `The maximum depth is that of Foundation`(_ depth: Int) {
        for (begin, end) in [("[", "]"), (#"{"a":"#, "}"), (#"[{"a":"#, "}]")] {
            let count = depth / begin.filter { "[{".contains($0) }.count
            let text = String(repeating: begin, count: count) + "1" + String(repeating: end, count: count)
            let isRead = (try? JSONValue(json: Data(text.utf8))) != nil
            #expect(
                isRead
                    == ((try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil)
            )
        }
    }

    @Test func `An error quotes nothing`() throws {
        let error = #expect(throws: DecodingError.self) {
            try JSONValue(json: Data(#"{"s3cret":"s3cret"s3cret}"#.utf8))
        }
        #expect(!"\(try #require(error))".contains("s3cret"))
    }
}
