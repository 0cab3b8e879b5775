import Foundation

@testable import Errand

/// Random JSON texts with their values, reproducible from a seed.
struct JSONSample {
    let text: String
    let value: JSONValue

    var data: Data { Data(text.utf8) }

    /// Returns a text of random shape, with at most `depth` nested containers.
    static func sample(depth: Int, using random: inout SplitMix) -> JSONSample {
        let kind = Int.random(in: 0..<(depth > 0 ? 10 : 6), using: &random)
        return switch kind {
        case 0: scalar(using: &random)
        case 1, 2: number(using: &random)
        case 3...5: string(using: &random)
        case 6, 7:
            array((0..<Int.random(in: 0...6, using: &random)).map { _ in sample(depth: depth - 1, using: &random) })
        default: object(depth, using: &random)
        }
    }

    /// Returns `inner` inside `depth` nested arrays and objects.
    static func nested(_ inner: JSONSample, depth: Int, using random: inout SplitMix) -> JSONSample {
        (0..<depth).reduce(inner) { inner, _ in
            guard Bool.random(using: &random) else { return array([inner]) }
            return JSONSample(text: #"{"a":\#(inner.text)}"#, value: .object(["a": inner.value]))
        }
    }

    static func array(_ elements: [JSONSample]) -> JSONSample {
        JSONSample(
            text: "[" + elements.map(\.text).joined(separator: ",\n") + "]",
            value: .array(elements.map(\.value))
        )
    }

    private static func object(_ depth: Int, using random: inout SplitMix) -> JSONSample {
        var (texts, members) = ([String](), [String: JSONValue]())
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            let (name, member) = (string(using: &random), sample(depth: depth - 1, using: &random))
            texts.append("\(name.text) : \(member.text)")
            if let name = name.value.string, members[name] == nil { members[name] = member.value }
        }
        return JSONSample(text: "{ " + texts.joined(separator: ",") + "}", value: .object(members))
    }

    private static func scalar(using random: inout SplitMix) -> JSONSample {
        let scalars: [(String, JSONValue)] = [("null", .null), ("true", .bool(true)), ("false", .bool(false))]
        let (text, value) = scalars[Int.random(in: 0..<3, using: &random)]
        return JSONSample(text: text, value: value)
    }

    private static func number(using random: inout SplitMix) -> JSONSample {
        let bits = UInt64.random(in: .min ... .max, using: &random)
        let whole = Int64(bitPattern: bits) >> Int64.random(in: 0..<64, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return JSONSample(text: "\(whole)", value: .int(whole))
        case 1: return JSONSample(text: "\(whole >> 12).0e0", value: .int(whole >> 12))
        case 2: return JSONSample(text: "\(bits | 1 << 63)", value: .decimal(Decimal(bits | 1 << 63)))
        case 3: return JSONSample(text: "\(bits | 1).0000000000000001", value: tiny(above: bits | 1))
        default: return double(Double(bitPattern: bits))
        }
    }

    private static func tiny(above whole: UInt64) -> JSONValue {
        .decimal(Decimal(whole) + Decimal(sign: .plus, exponent: -16, significand: 1))
    }

    private static func double(_ value: Double) -> JSONSample {
        guard value.isFinite, abs(value) < 1e300, abs(value) > 1e-300, value != value.rounded() || abs(value) > 1e19
        else {
            return JSONSample(text: "0.5", value: .double(0.5))
        }
        return JSONSample(text: "\(value)", value: .double(value))
    }

    private static func string(using random: inout SplitMix) -> JSONSample {
        let pieces = [
            ("a", "a"), ("茶", "茶"), (#"\n"#, "\n"), (#"\""#, "\""), (#"\\"#, "\\"), (#"\u00e9"#, "\u{E9}"), ("🍏", "🍏"),
            (#"\uD83C\uDF4F"#, "🍏"), ("\u{7F}", "\u{7F}"), (#"\u0000"#, "\u{0}"), (#"\/"#, "/"), ("[", "["), ("}", "}"),
        ]
        let chosen = (0..<Int.random(in: 0...8, using: &random)).map { _ in
            pieces[Int.random(in: 0..<pieces.count, using: &random)]
        }
        return JSONSample(text: "\"\(chosen.map(\.0).joined())\"", value: .string(chosen.map(\.1).joined()))
    }
}
