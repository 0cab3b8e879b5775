import Errand
import ErrandInspector
import Foundation
import Testing

@Suite("Limits of a recorder")
struct LimitTests {
    private func session(exchanges: Int = 1_000, bytes: Int = 32 << 20, bodyBytes: Int = 256 << 10) -> Session {
        var limits = HARRecorder.Limits()
        (limits.exchanges, limits.bytes, limits.bodyBytes) = (exchanges, bytes, bodyBytes)
        return Session(HARRecorder(includesSecrets: true, limits: limits))
    }

    @Test("The newest exchanges stay, and the archive has the number of those that were removed")
    func ring() throws {
        let session = session(exchanges: 10)
        for load in 1...25 as ClosedRange<UInt64> {
            session.respond(HTTPRequest(.get, .shop("/\(load)")), HTTPResponse(status: 200), load: load, at: Int(load))
            session.send(.ended(.success), load: load, at: Int(load))
        }
        #expect(session.recorder.count == 10)
        #expect(try session.recorder.entries().map(\._load) == Array(16...25))
        let archive = try JSONDecoder().decode(Archive.self, from: session.recorder.data())
        #expect(archive.log.comment.contains("15 older exchanges were removed"))
        #expect(String(decoding: session.recorder.report(), as: UTF8.self).contains("15 older exchanges were removed"))
    }

    @Test("Without an exchange to keep, nothing is recorded", arguments: [0, -1])
    func none(exchanges: Int) throws {
        let session = session(exchanges: exchanges)
        session.respond(HTTPRequest(.get, .shop("/")), HTTPResponse(status: 200))
        session.send(.ended(.success))
        #expect(session.recorder.count == 0)
    }

    @Test("Headers and bodies together have a limit of bytes")
    func bytes() throws {
        let session = session(bytes: 100_000)
        for load in 1...20 as ClosedRange<UInt64> {
            let response = HTTPResponse(
                status: 200,
                headers: ["X-Filler": String(repeating: "h", count: 10_000)],
                body: Data(repeating: 0x41, count: 10_000)
            )
            session.respond(HTTPRequest(.get, .shop("/")), response, load: load, at: Int(load))
        }
        #expect(session.recorder.count == 4)
        #expect(try session.recorder.entries().map(\._load) == [17, 18, 19, 20])
    }

    @Test("An error of a load does not keep the body of its response")
    func error() throws {
        let session = session(bodyBytes: 10)
        let response = HTTPResponse(status: 500, body: Data(count: 1_000_000))
        let kept = Kept(APIError(.http, response: APIResponse(response, url: .shop("/")), underlying: Witness()))
        session.respond(HTTPRequest(.get, .shop("/")), response)
        session.send(.ended(.failure(try #require(kept.error))))
        kept.error = nil
        #expect(kept.witness == nil)
        #expect(try session.recorder.entries().first?._error?.contains("http") == true)
    }

    /// An error that another error has.
    private final class Witness: Error {}

    /// An error, and whether it exists.
    private final class Kept {
        var error: APIError?
        weak var witness: Witness?

        init(_ error: APIError) {
            self.error = error
            witness = error.underlying as? Witness
        }
    }

    @Test("A body with a file whose other bytes are cut is marked")
    func cutBesideFile() throws {
        let session = session(bodyBytes: 10)
        let file = HTTPBody.Piece.file(URL(filePath: "/tmp/picture"))
        let (long, short) = (Data(repeating: 0x41, count: 20), Data("short".utf8))
        session.respond(
            HTTPRequest(.post, .shop("/"), body: HTTPBody([.data(long), file])),
            HTTPResponse(status: 200)
        )
        let request = HTTPRequest(.post, .shop("/"), body: HTTPBody([.data(short), file]))
        session.respond(request, HTTPResponse(status: 200), load: 2)
        #expect(try session.recorder.entries().map(\._truncated) == [true, nil])
    }

    @Test("A long body is cut at a whole character, marked, and counted as a whole")
    func cut() throws {
        let session = session(bodyBytes: 101)
        let text = Data(String(repeating: "ä", count: 100).utf8)
        let request = HTTPRequest(.post, .shop("/"), body: .data(text))
        session.respond(request, HTTPResponse(status: 200, headers: ["Content-Type": "text/plain"], body: text))
        session.respond(HTTPRequest(.get, .shop("/")), HTTPResponse(status: 200, body: Data(count: 101)), load: 2)
        let entries = try session.recorder.entries()
        #expect(entries.map(\._truncated) == [true, nil])
        let content = entries[0].response.content
        #expect(content.text == String(repeating: "ä", count: 50))
        #expect((content.size, content.comment) == (200, "Only the first 101 of 200 bytes were recorded."))
        #expect(entries[0].request.bodySize == 200)
        #expect(entries[0].request.postData?.comment == "Only the first 101 of 200 bytes were recorded.")
    }

    @Test("Loads that were not sent count like exchanges, with their paths as bytes")
    func unsent() throws {
        let (few, small) = (session(exchanges: 2), session(bytes: 250))
        for session in [few, small] {
            for load in 1...4 as ClosedRange<UInt64> {
                session.send(.began, load: load)
                let path = "/" + String(repeating: "a", count: 99)
                session.send(.ended(.cancelled), load: load, path: path, at: Int(load))
            }
            #expect(session.recorder.count == 2)
            #expect(try session.recorder.entries().map(\._load) == [3, 4])
            let report = String(decoding: session.recorder.report(), as: UTF8.self)
            #expect(report.contains("2 older exchanges were removed"))
        }
    }

    @Test("An exchange in flight that was removed is not recorded again")
    func inFlight() throws {
        let session = session(exchanges: 2)
        session.send(.began)
        let number = session.begin(HTTPRequest(.get, .shop("/slow")), load: 1)
        for load in [2, 3] as [UInt64] {
            session.respond(HTTPRequest(.get, .shop("/")), HTTPResponse(status: 200), load: load, at: Int(load))
        }
        let response = APIResponse(HTTPResponse(status: 200), url: .shop("/slow"))
        session.send(.responded(response), load: 1, exchange: number, at: 9)
        session.send(.ended(.failure(APIError(.decoding))), load: 1, at: 9)
        #expect(try session.recorder.entries().map(\._load) == [2, 3])
    }
}
