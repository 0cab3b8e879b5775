import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct PublicSuffixTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let host: String
        let domain: String?
        var testDescription: String { host }
    }

    static let folder = SharedData.publicSuffix
    static let list = folder.folder.appending(path: "public_suffix_list.dat")
    static let cases: [Case] = {
        guard let text = try? String(decoding: folder.bytes("tests.txt"), as: UTF8.self) else { return [] }
        return text.split(separator: "\n").filter { !$0.hasPrefix("//") }.map { line in
            let fields = line.split(separator: " ").map { $0 == "null" ? nil : String($0) }
            return Case(host: fields[0] ?? "", domain: fields[1])
        }
    }()

    static let fileList = PublicSuffixList(file: list)

    @Test(
        "The list of publicsuffix.org finds the registrable domains of its test cases",
        .enabled(if: folder.exists, "the conformance data is not here"),
        arguments: cases
    )
    func findsDomain(_ test: Case) {
        let host = CookieDomain.canonical(test.host) ?? ""
        #expect(Self.fileList.registrableDomain(of: host) == test.domain.flatMap(CookieDomain.canonical))
    }

    @Test("There are 78 cases", .enabled(if: folder.exists, "the conformance data is not here"))
    func isComplete() {
        #expect(Self.cases.count == 78)
    }

    @Test(
        "libpsl finds the registrable domains of the same cases",
        .enabled(if: LibPSL() != nil && folder.exists, "libpsl or the conformance data is not here"),
        arguments: cases
    )
    func libpslFindsDomain(_ test: Case) throws {
        let host = CookieDomain.canonical(test.host) ?? ""
        let domain = host.utf8.first == UInt8(ascii: ".") ? nil : try #require(LibPSL()).registrableDomain(of: host)
        #expect(domain == test.domain.flatMap(CookieDomain.canonical))
    }

    @Test(
        "A cookie for a public suffix is refused, but stored for a host that is a public suffix",
        .enabled(if: folder.exists, "the conformance data is not here")
    )
    func refuses() throws {
        let jar = CookieJar(publicSuffixList: Self.list)
        let host = try #require(URL(string: "https://shop.co.uk/"))
        #expect(jar.store(setCookie: "a=1; Domain=co.uk", from: host) == .refused(.publicSuffix))
        #expect(jar.store(setCookie: "a=1; Domain=uk.", from: host) == .refused(.foreignDomain))
        let suffix = try #require(URL(string: "https://github.io/"))
        jar.store(setCookie: "b=1; Domain=github.io", from: suffix)
        #expect(jar.cookies.map(\.isHostOnly) == [true])
    }

    // The Arabic and Spanish sentences are samples (A) and (G) of RFC 3492 section 7.1.
    @Test(
        "International labels are encoded as in RFC 3492",
        arguments: [
            ("bücher", "xn--bcher-kva"), ("食狮", "xn--85x722f"), ("中国", "xn--fiqs8s"),
            ("ليهمابتكلموشعربي؟", "xn--egbpdaj6bu4bxfgehfvwxn"),
            ("porquénopuedensimplementehablarenespañol", "xn--porqunopuedensimplementehablarenespaol-fmd56a"),
            ("ascii", "ascii"),
        ]
    )
    func encodes(_ label: String, _ code: String) {
        #expect(CookieDomain.canonical(label) == code)
    }
}
