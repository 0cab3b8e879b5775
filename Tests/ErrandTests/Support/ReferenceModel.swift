import Foundation
import TestSupport
import Testing

@testable import Errand

/// Reference resolution as specified in RFC 3986, for comparison: appendix B's expression and the pseudocode of section 5.2.
struct ReferenceModel {
    var scheme: String?
    var authority: String?
    var path: String
    var query: String?

    init(_ text: String) {
        let blanks = CharacterSet(charactersIn: " \t")
        let expression = #/^(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?:\/\/([^\/?#]*))?([^?#]*)(?:\?([^#]*))?/#
        let parts = try? expression.matchingSemantics(.unicodeScalar)
            .firstMatch(in: text.trimmingCharacters(in: blanks))?.output
        scheme = parts?.1.map { $0.lowercased() }
        authority = parts?.2.map(String.init).map(Self.withoutUserInfo)
        path = parts.map { String($0.3) } ?? ""
        query = parts?.4.map(String.init)
    }

    /// The text of the resolved URL, with illegal bytes encoded.
    func resolved(against base: ReferenceModel) -> String {
        let target = target(in: base)
        return (target.scheme ?? "") + "://" + (target.authority ?? "") + Self.encoded(target.path)
            + (target.query.map { "?" + Self.encoded($0) } ?? "")
    }

    /// Section 5.2.2, before anything is encoded.
    func target(in base: ReferenceModel) -> ReferenceModel {
        var target = self
        if scheme == nil {
            if authority == nil {
                if path.isEmpty {
                    target.path = base.path
                    target.query = query ?? base.query
                } else if path.unicodeScalars.first != "/" {
                    target.path = base.path.isEmpty ? "/" + path : base.directory + path
                }
                target.authority = base.authority
            }
            target.scheme = base.scheme
        }
        target.path = Self.withoutDotSegments(target.path)
        return target
    }

    private var directory: String {
        String(path.unicodeScalars.reversed().drop { $0 != "/" }.reversed().map(Character.init))
    }

    /// Section 5.2.4, step by step.
    static func withoutDotSegments(_ path: String) -> String {
        var (input, output) = (path.unicodeScalars.map(String.init), [String]())
        func starts(_ text: String) -> Bool { input.starts(with: text.map(String.init)) }
        func isAll(_ text: String) -> Bool { input == text.map(String.init) }
        func removeLast() {
            while let last = output.popLast(), last != "/" {}
        }
        while !input.isEmpty {
            if starts("../") {
                input.removeFirst(3)
            } else if starts("./") {
                input.removeFirst(2)
            } else if starts("/./") {
                input.removeFirst(2)
            } else if isAll("/.") {
                input = ["/"]
            } else if starts("/../") {
                input.removeFirst(3)
                removeLast()
            } else if isAll("/..") {
                input = ["/"]
                removeLast()
            } else if isAll(".") || isAll("..") {
                input = []
            } else {
                repeat { output.append(input.removeFirst()) } while !input.isEmpty && input[0] != "/"
            }
        }
        return output.joined()
    }

    private static let legal = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?".utf8
    )

    /// Encodes bytes that a path or a query may not contain; triplets are kept.
    static func encoded(_ text: String) -> String {
        let bytes = Array(text.utf8)
        return bytes.indices.map { index in
            let isKept = legal.contains(bytes[index]) || triplet(at: index, of: bytes) != nil
            return isKept ? String(Unicode.Scalar(bytes[index])) : String(format: "%%%02X", Int(bytes[index]))
        }.joined()
    }

    /// The triplets of a text, from left to right.
    static func triplets(of text: String) -> [String] {
        let bytes = Array(text.utf8)
        return bytes.indices.compactMap { triplet(at: $0, of: bytes) }
    }

    /// The bytes with decoded triplets.
    static func decoded(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        var (decoded, index) = ([UInt8](), 0)
        while index < bytes.count {
            let value = triplet(at: index, of: bytes).flatMap { UInt8($0.dropFirst(), radix: 16) }
            decoded.append(value ?? bytes[index])
            index += value == nil ? 1 : 3
        }
        return decoded
    }

    private static func triplet(at index: Int, of bytes: [UInt8]) -> String? {
        guard bytes[index] == UInt8(ascii: "%") else { return nil }
        let digits = bytes[index...].dropFirst().prefix(2)
        guard digits.count == 2, digits.allSatisfy("0123456789ABCDEFabcdef".utf8.contains) else { return nil }
        return "%" + String(decoding: digits, as: UTF8.self)
    }

    private static func withoutUserInfo(_ authority: String) -> String {
        let place = authority.split(separator: "@", omittingEmptySubsequences: false).last.map(String.init) ?? ""
        return place.replacing(#/:0*$/#, with: "").replacing(#/:0+([1-9][0-9]*)$/#) { ":\($0.output.1)" }
    }
}

extension ReferenceModel {
    /// Generates a reference from pieces that are likely to fail.
    static func randomReference(authorities: [String], _ random: inout SplitMix) -> String {
        let form = Int.random(in: 0..<8, using: &random)
        let authority = authorities.randomElement(using: &random) ?? ""
        let path = (0..<Int.random(in: 0..<7, using: &random)).map { _ in piece(&random) }.joined(separator: "/")
        let relative = String(path.unicodeScalars.drop { $0 == "/" })
        let start =
            switch form {
            case 0: ["http://", "HTTP://", "hTTp://"].randomElement(using: &random).map { $0 + authority + "/" + path }
            case 1: "//\(authority)/\(path)"
            case 2: "/" + relative
            case 3: ""
            default: relative
            }
        let query = Bool.random(using: &random) ? "?" + piece(&random) + "=" + piece(&random) + piece(&random) : ""
        let fragment = Int.random(in: 0..<4, using: &random) == 0 ? "#" + piece(&random) + "?/" + piece(&random) : ""
        return (start ?? "") + query + fragment
    }

    private static func piece(_ random: inout SplitMix) -> String {
        let pieces = [
            "", ".", "..", "...", ".g", "g..", "g", ";x=1", "a%20b", "%2e%2E", "%2F", "%", "%2", "%zz", "%%41", "100%",
            "%25", "x%3D%3D", "ü", "e\u{301}", "龙", "\u{1F600}", "x|y", "[a]", "{b}", "a b", "a+b", "\\", "\"", "<>",
            "^`~", "!$&'()*+,;=:@", "a\tb", "\u{301}", "a:b", "//", "?",
        ]
        return pieces.randomElement(using: &random) ?? ""
    }
}

/// The examples of RFC 3986 section 5.4, all of them resolved against one base.
enum RFC3986 {
    struct Example: Sendable, CustomTestStringConvertible {
        let reference: String
        /// The URL; `nil` where it cannot be requested: another scheme, or `http` without a host.
        let target: String?

        var testDescription: String { "<\(reference)>" }
    }

    static let base = "http://a/b/c/d;p?q"

    /// 23 normal and 19 abnormal examples; `g:h` and `http:g` name no host.
    static let examples = [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q"), ("g#s", "http://a/b/c/g"), ("g?y#s", "http://a/b/c/g?y"),
        (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y"),
        ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
        ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
        ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/./x", "http://a/b/c/g"),
        ("g#s/../x", "http://a/b/c/g"), ("http:g", nil),
    ].map { Example(reference: $0.0, target: $0.1) }
}
