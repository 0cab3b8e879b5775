#if os(Linux)
import Testing

@testable import Errand

@Suite("What libcurl tells about HTTP/2", .timeLimit(.minutes(1)))
struct CurlStreamTests {
    @Test(arguments: [
        ("Using Stream ID: 1f (easy handle 0x55d)\n", CurlWord.begins(stream: 31)),
        ("[HTTP/2] [31] OPENED stream for https://localhost/\n", .begins(stream: 31)),
        ("recveived GOAWAY, error=0, last_stream=1999\n", .lastStream(1_999)),
        ("received GOAWAY, error=0, last_stream=2147483647\n", .lastStream(.max >> 1)),
    ])
    func `Lines of all versions are understood`(_ line: String, _ word: CurlWord) {
        #expect(CurlWord(line) == word)
    }

    @Test(arguments: ["", "GOAWAY", "Using Stream ID: ", "h2h3 [:path: /GOAWAY]", "last_stream=7"])
    func `Lines about other things are not`(_ line: String) {
        #expect(CurlWord(line) == nil)
    }

    @Test func `A stream behind the last one of its connection was refused`() {
        var streams = CurlLastStreams()
        let stream = CurlStream(port: 7, number: 99)
        #expect(!streams.areBefore(stream))
        streams.end(7, at: 99)
        #expect(!streams.areBefore(stream))
        streams.end(7, at: 97)
        streams.end(7, at: 98)
        #expect(streams.areBefore(stream))
        #expect(!streams.areBefore(CurlStream(port: 8, number: 99)))
        #expect(!streams.areBefore(CurlStream(port: 7)))
    }

    @Test func `A new connection on an old port has not refused anything`() {
        var streams = CurlLastStreams()
        streams.end(7, at: 97)
        streams.begin(CurlStream(port: 7, number: 1))
        #expect(!streams.areBefore(CurlStream(port: 7, number: 99)))
    }
}
#endif
