import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("References are resolved as text", .fault(80), .timeLimit(.minutes(10)))
struct URLReferenceTests {
    private func resolve(_ reference: String, against base: String = "http://a/b/c/d;p?q") -> String? {
        URLReference(reference.utf8)?.resolved(against: URL(base))?.absoluteString
    }

    @Test(arguments: RFC3986.examples)
    func `Each example of RFC 3986 section 5 4 is resolved as stated there`(_ example: RFC3986.Example) {
        #expect(resolve(example.reference) == example.target)
    }

    @Test(arguments: [
        ("/x%20y z", "http://a/x%20y%20z"),
        ("/items?filter[q]=a%20b&page=2", "http://a/items?filter%5Bq%5D=a%20b&page=2"),
        ("?q=a|b&c=x%3D%3D", "http://a/b/c/d;p?q=a%7Cb&c=x%3D%3D"), ("/ü%20x|y", "http://a/%C3%BC%20x%7Cy"),
        ("/100%", "http://a/100%25"), ("/100%25", "http://a/100%25"), ("/%2e%2E/%2f", "http://a/%2e%2E/%2f"),
        ("/a+b?c+d=%2B", "http://a/a+b?c+d=%2B"), (#"/a\b"#, "http://a/a%5Cb"), ("/a\tb", "http://a/a%09b"),
        (" \t/x ", "http://a/x"), ("http://b/x/../y", "http://b/y"), ("//b/x/./../y/.", "http://b/y/"),
        ("http://b/..", "http://b/"), ("HTTP://b/x", "http://b/x"), ("//b", "http://b"), ("http://b?x", "http://b?x"),
        ("//u:p@b/x", "http://b/x"), ("//u@v@b/x", "http://b/x"), ("//b:/x", "http://b/x"),
        ("//b:0080/", "http://b:80/"),
        ("//[::1]:81/x", "http://[::1]:81/x"), ("//[fe80::1%25eth0]/", "http://[fe80::1%25eth0]/"),
        ("//ü.test/%C3", "http://xn--tda.test/%C3"), ("//%C3%BC.test/", "http://xn--tda.test/"),
        ("//%61.test/%61", "http://a.test/%61"), ("1:2", "http://a/b/c/1:2"), ("%3a:x", "http://a/b/c/%3a:x"),
        (#"//good.test\@b/x"#, "http://b/x"), ("//a//b", "http://a//b"), ("/.//b", "http://a//b"),
    ])
    func `Only bytes that are not allowed are encoded`(_ reference: String, _ target: String) {
        #expect(resolve(reference) == target)
    }

    @Test(arguments: [
        "http:", "http:g", "http:/g", "http://", "http:///x", "//", "///x", "http://[", "//[]/", "//[::1/", "//[::1]x/",
        "//b:x/", "//b:65536/", "//b:-1/", "//b:+80/", "//b:99999999999999999999/", "//b c/", "//b%20c/", "//b%2Fc/",
        "//b%00/", "//%25/", "//b%ZZ/", "//b%FF/", #"//b\c/"#, "//b|c/", "//::1/", "//u@/x", "//b／c/", "http:/..//b/x",
    ])
    func `A reference without a valid host is not a URL`(_ reference: String) {
        #expect(resolve(reference) == nil)
    }

    @Test func `Bytes that are not UTF-8 are encoded one by one`() {
        let reference = URLReference(Array("/".utf8) + [0xE9] + Array("?%E9=".utf8) + [0xFF])
        #expect(reference?.resolved(against: URL("http://a"))?.absoluteString == "http://a/%E9?%E9=%FF")
    }

    @Test(arguments: ["../", "a/../", "./", "%", "/"])
    func `Many segments are resolved in time proportional to their number`(_ unit: String) {
        let times = [1, 4].map { factor in
            let reference = "/x" + String(repeating: unit, count: rounds(factor << 15))
            #expect(resolve(reference) != nil)
            return cpuTime { resolve(reference) }
        }
        // 16 times as long if each were compared with the others.
        #expect(times[1] < 8 * times[0])
    }

    @Test
    func `Generated references match the RFC's pseudocode, keep every triplet, and are resolved completely`()
        throws
    {
        var random = SplitMix(seed: 3986)
        let authorities = ["b.test", "B.test:8080", "u:p@b.test", "[::1]:81", "b.test:", "b.test:080"]
        for _ in 0..<rounds(600, slow: 2_000) {
            let base = try #require(
                ["http://a/b/c/d;p?q", "http://a", "http://a:8080/%41/", "http://a?x"].randomElement(using: &random)
            )
            let reference = ReferenceModel.randomReference(authorities: authorities, &random)
            // Another scheme, such as the one of `a:b/c`, is not resolved any further.
            guard ReferenceModel(reference).scheme.map({ $0 == "http" }) != false else { continue }
            let (model, raw) = (ReferenceModel(reference), ReferenceModel(reference).target(in: ReferenceModel(base)))
            let url = try #require(resolve(reference, against: base), "\(reference)")
            #expect(url == model.resolved(against: ReferenceModel(base)), "\(reference)")
            let place = url.dropFirst("\(raw.scheme ?? "")://\(raw.authority ?? "")".count)
            let text = raw.path + (raw.query.map { "?\($0)" } ?? "")
            #expect(ReferenceModel.decoded(String(place)) == ReferenceModel.decoded(text), "\(reference)")
            #expect(
                ReferenceModel.triplets(of: text).isSubsequence(of: ReferenceModel.triplets(of: url)),
                "\(reference)"
            )
            #expect(resolve(url, against: "https://elsewhere.test/x/y?z") == url)
            #expect(URL(string: url)?.absoluteString == url)
        }
    }
}

extension Array where Element: Equatable {
    /// Whether the elements are all in `other`, in this order.
    fileprivate func isSubsequence(of other: [Element]) -> Bool {
        var rest = self[...]
        for element in other where element == rest.first { rest.removeFirst() }
        return rest.isEmpty
    }
}
