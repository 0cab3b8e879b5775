import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Link headers", .timeLimit(.minutes(10)))
struct HTTPLinkTests {
    /// One case of the shared data, in which a link occurs once for each of its relations.
    struct Vector: Decodable, Sendable, CustomTestStringConvertible {
        struct Reference: Decodable, Sendable {
            let uri: String
            let rel: String
            let title: String?
            let anchor: String?
        }

        let group: String
        let headers: [String]
        let expected: [Reference]
        var testDescription: String { group }
    }

    static let vectors: [Vector] = (try? SharedData.linkHeader.json("http-link-header-vectors.json")) ?? []

    @Test(.enabled(if: SharedData.linkHeader.exists, "no shared data")) func `There are 18 vectors`() {
        #expect(Self.vectors.count == 18)
    }

    @Test(.enabled(if: SharedData.linkHeader.exists, "no shared data"), arguments: vectors)
    func `Each vector is parsed as expected`(_ vector: Vector) throws {
        let links = vector.headers.flatMap { HTTPLink.links(in: HTTPField("Link", $0)) }
            .flatMap { link in link.relations.map { (link, $0) } }
        try #require(links.count == vector.expected.count)
        for ((link, relation), expected) in zip(links, vector.expected) {
            #expect(link.reference.value == expected.uri)
            #expect(relation == expected.rel)
            #expect(link.parameters["title"] == expected.title)
            #expect(link.parameters["anchor"] == expected.anchor)
        }
    }

    @Test func `Names, relations and several headers are parsed by RFC 8288`() throws {
        var headers: HTTPHeaders = ["Link": #"</1>; REL="Next PREV"; rel=last;title="a\"b""#]
        headers.append("link", #"</2>;rel=next;title=plain"#)
        let links = HTTPLink.links(in: headers)
        #expect(links.map(\.reference.value) == ["/1", "/2"])
        #expect(links[0].relations == ["next", "prev"])
        #expect(links[0].hasRelation("prev") && !links[0].hasRelation("last"))
        #expect(links[0].parameters["title"] == "a\"b")
        #expect(links[1].parameters["title"] == "plain")
    }

    @Test(.fault(80), arguments: ["</x>", "< /x>", "</x >", "<\t/x \t>"])
    func `A target has no surrounding whitespace`(_ value: String) {
        #expect(HTTPLink.links(in: HTTPField("Link", value + ";rel=next")).map(\.reference.value) == ["/x"])
    }

    @Test func `A target keeps the bytes received`() throws {
        let bytes = Array("</".utf8) + [0xE9] + Array(">; title=\"".utf8) + [0xE9] + Array("\"".utf8)
        let link = try #require(HTTPLink.links(in: HTTPField("Link", bytes: bytes)).first)
        #expect(link.reference.bytes == [UInt8(ascii: "/"), 0xE9])
        #expect(link.reference.value == "/é" && link.parameters["title"] == "é")
    }

    @Test(arguments: [
        ("", 0), (",, ,", 0), ("nonsense", 0), ("<", 0), ("</a", 0), ("</a>", 1), ("</a>;", 1), ("</a>;=;;x", 1),
        ("</a>; rel=\"next", 1), ("oops, </a>; rel=next", 1), (#"x; y="<,>", </a>"#, 1), ("</a>;rel=\"\\", 1),
        ("</a> </b>", 1), ("</a>;rel=next,</b>", 2), ("<>;rel=next", 1), (";,=\",<\"", 0),
    ])
    func `Malformed links are skipped`(_ value: String, _ count: Int) {
        #expect(HTTPLink.links(in: HTTPField("Link", value)).count == count)
    }
}
