import Errand
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite("An exchange", .limitedConcurrency, .timeLimit(.minutes(10)))
struct TransportBehaviourTests {
    @Test("each method arrives unchanged", arguments: TransportKind.allCases)
    func methods(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let transport = try kind.make()
        let names = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "M-SEARCH"]
        for name in names {
            _ = try await transport.send(HTTPRequest(HTTPMethod(rawValue: name), to: server), progress: nil)
        }
        #expect(server.requests.map(\.method) == names)
    }

    @Test("the target arrives unchanged, without the fragment", arguments: TransportKind.allCases)
    func target(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        _ = try await kind.send(HTTPRequest(to: server, "/a%20b/%2F/c;d?e=%C3%BC&f=a+b&g#h"))
        #expect(try await server.takeRequest().target == "/a%20b/%2F/c;d?e=%C3%BC&f=a+b&g")
        try await KnownFault.dotSegments.known(for: kind) {
            _ = try await kind.send(HTTPRequest(to: server, "/a/../b/./c"))
            let target = try await server.takeRequest().target
            #expect(target == "/a/../b/./c")
        }
    }

    @Test(
        "a host may be an IPv6 literal",
        .enabled(if: Loopback.hasIPv6, "this machine has no ::1"),
        arguments: TransportKind.allCases
    )
    func addressLiteral(kind: TransportKind) async throws {
        var options = ServerOptions()
        options.listensOnIPv6 = true
        let server = try FixtureServer.start(options) { _ in .status(200) }
        try await KnownFault.addressLiteral.known(for: kind) {
            let response = try await kind.send(HTTPRequest(.get, server.url("/", host: "[::1]")))
            #expect(response.status == 200)
        }
    }

    @Test("the error of a name without an address names the host", arguments: TransportKind.allCases)
    func noAddress(kind: TransportKind) async throws {
        let error = try await kind.failure(
            of: HTTPRequest(.get, URL("http://no-such-host.invalid/secret?token=s3cret"))
        )
        #expect(error.kind == .hostNotFound)
        #expect(error.reason == "no address for the host no-such-host.invalid")
        #expect(!"\(error)\(String(describing: error.underlying))".contains("s3cret"))
    }

    @Test("header names keep their case, and values their bytes", arguments: TransportKind.allCases)
    func headers(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let headers: HTTPHeaders = ["X-API-KEY": "a, b;c=\"d\"", "x-low": "grün 中文", "X-Empty": "", "X-Blank": " \t "]
        _ = try await kind.send(HTTPRequest(to: server, headers: headers))
        let arrived = try await server.takeRequest().headers
        #expect(arrived.contains(HeaderLine("X-API-KEY", "a, b;c=\"d\"")))
        #expect(arrived.contains(HeaderLine("x-low", "grün 中文")))
        #expect(arrived.contains(HeaderLine("X-Empty", "")))
        #expect(arrived.contains(HeaderLine("X-Blank", "")))
    }

    @Test("lines of one name arrive one by one", arguments: TransportKind.allCases)
    func duplicates(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        _ = try await kind.send(HTTPRequest(to: server, headers: ["X-A": "1", "X-B": "2", "x-a": "3"]))
        let arrived = try await server.takeRequest().headers
        #expect(arrived.values("X-A").joined(separator: ",") == "1,3")
        try await KnownFault.joinedLines.known(for: kind) {
            #expect(arrived.values("X-A") == ["1", "3"])
        }
    }

    @Test("a request has no headers that describe the client", arguments: TransportKind.allCases)
    func customHeaders(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        _ = try await kind.send(HTTPRequest(.post, to: server, body: .data(Data("a".utf8))))
        let names = try await server.takeRequest().headers.map { $0.name.lowercased() }
        #expect(Set(names).isSubset(of: ["host", "accept", "accept-encoding", "content-length", "connection"]))
    }

    @Test("the framing of a request is written by the transport", arguments: TransportKind.allCases)
    func framing(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let headers: HTTPHeaders = ["Content-Length": "1", "Transfer-Encoding": "chunked", "Host": "evil.example"]
        _ = try await kind.send(HTTPRequest(.post, to: server, headers: headers, body: .data(Data("abc".utf8))))
        let request = try await server.takeRequest()
        #expect(request.text == "abc")
        #expect(request.headers.values("Content-Length") == ["3"])
        #expect(request.headers["Transfer-Encoding"] == nil)
        #expect(request.headers.values("Host") == ["127.0.0.1:\(server.port)"])
    }

    @Test("header lines of a response keep their order and their duplicates", arguments: TransportKind.allCases)
    func responseHeaders(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in
            .status(200, headers: ["X-Z": "1", "X-A": "2", "X-Z": "3", "X-Odd": "a, b=c"])
        }
        let headers = try await kind.send(HTTPRequest(to: server)).headers
        #expect(headers.values("x-z").joined(separator: ", ") == "1, 3")
        #expect(headers.values("X-Odd") == ["a, b=c"])
        try await KnownFault.joinedLines.known(for: kind) {
            #expect(headers.filter { $0.name.hasPrefix("X-") }.map(\.value) == ["1", "2", "3", "a, b=c"])
        }
    }

    @Test("each cookie has a separate line", arguments: TransportKind.allCases)
    func cookies(kind: TransportKind) async throws {
        let lines = [
            "a=1; Expires=Wed, 21 Oct 2037 07:28:00 GMT; Path=/", "b=", "c=x,y=z; Secure", "d=1, 2", "__Host-e=\"q\"",
        ]
        let server = try FixtureServer.start { _ in
            lines.reduce(.status(200)) { $0.adding("Set-Cookie", $1) }
        }
        let transport = try kind.make()
        #expect(try await transport.send(HTTPRequest(to: server), progress: nil).headers.values("set-cookie") == lines)
        _ = try await transport.send(HTTPRequest(to: server), progress: nil)
        #expect(server.requests.allSatisfy { $0.header("Cookie") == nil })
    }

    @Test("a redirect is the response", arguments: TransportKind.allCases, [301, 302, 303, 307, 308])
    func redirect(kind: TransportKind, status: Int) async throws {
        let server = try FixtureServer.start { _ in
            .text("moved", status: status, headers: ["Location": "/there", "Set-Cookie": "a=1"])
        }
        var request = HTTPRequest(.post, to: server, body: .data(Data("a".utf8)))
        // The body of one that is followed is dropped.
        for (policy, body) in [(RedirectPolicy.follow, ""), (.refuse, "moved")] {
            request.redirectPolicy = policy
            let response = try await kind.send(request)
            #expect(response.status == status)
            #expect(response.headers["Location"] == "/there")
            #expect(response.headers["Set-Cookie"] == "a=1")
            #expect(response.body == Data(body.utf8))
        }
        #expect(server.totalRequests == 2)
    }

    @Test("a redirect without a target is the response", arguments: TransportKind.allCases, [nil, "", "http://["])
    func redirectToNowhere(kind: TransportKind, location: String?) async throws {
        let headers = HeaderLines(location.map { [HeaderLine("Location", $0)] } ?? [])
        let server = try FixtureServer.start { _ in .text("moved", status: 302, headers: headers) }
        var request = HTTPRequest(to: server)
        // One that names no resource is followed by nobody; a proxy refuses one that is no URL.
        if location?.isEmpty == false { request.redirectPolicy = .refuse }
        let response = try await kind.send(request)
        #expect(response.status == 302)
        #expect(response.headers["Location"] == location)
        try await KnownFault.redirectBody.known(for: kind) {
            #expect(response.body == Data("moved".utf8))
        }
    }

    @Test(
        "a challenge is the response",
        arguments: TransportKind.allCases,
        [
            "Basic realm=\"x\"", "Basic", "Digest realm=\"x\", nonce=\"y\"", "Bearer", "Negotiate, Basic realm=\"x\"",
            "?",
        ]
    )
    func challenge(kind: TransportKind, value: String) async throws {
        let server = try FixtureServer.start { _ in .text("who?", status: 401, headers: ["WWW-Authenticate": value]) }
        let response = try await kind.send(HTTPRequest(to: server, headers: ["Authorization": "Basic YTpi"]))
        #expect(response.status == 401)
        #expect(response.headers["WWW-Authenticate"] == value)
        #expect(response.body == Data("who?".utf8))
        #expect(server.totalRequests == 1)
    }

    @Test("statuses without a body end at once", arguments: TransportKind.allCases, [204, 304])
    func noBody(kind: TransportKind, status: Int) async throws {
        let server = try FixtureServer.start { _ in .status(status, headers: ["ETag": "\"a\""]) }
        let response = try await kind.send(HTTPRequest(to: server))
        #expect(response.status == status && response.body.isEmpty)
    }

    @Test("a response to HEAD ends after the head, whatever its length", arguments: TransportKind.allCases)
    func head(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in
            Response(status: 200, headers: ["Content-Length": "99999999999"], steps: [])
        }
        let response = try await kind.send(HTTPRequest(.head, to: server))
        #expect(response.status == 200 && response.body.isEmpty)
        #expect(response.headers["Content-Length"] == "99999999999")
    }

    @Test("a response is never cached", arguments: TransportKind.allCases)
    func cache(kind: TransportKind) async throws {
        let server = try FixtureServer.start { .text("\($0.turn)", headers: ["Cache-Control": "max-age=60"]) }
        let transport = try kind.make()
        for turn in ["1", "2"] {
            let response = try await transport.send(HTTPRequest(to: server), progress: nil)
            #expect(response.body == Data(turn.utf8))
        }
    }

    @Test("requests one after the other share a connection", arguments: TransportKind.allCases)
    func keepAlive(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .text("a") }
        let transport = try kind.make()
        for _ in 0..<5 { _ = try await transport.send(HTTPRequest(to: server), progress: nil) }
        #expect(server.totalConnections == 1)
    }

    @Test("a content encoding is decoded", arguments: TransportKind.allCases)
    func gzip(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in
            .bytes(GzipSample.bytes, headers: ["Content-Encoding": "gzip"])
        }
        #expect(try await kind.send(HTTPRequest(to: server)).body == Data(GzipSample.text.utf8))
    }
}

/// A small text and its gzip form.
enum GzipSample {
    static let text = String(repeating: "errand ", count: 40)
    static let bytes = Array(
        Data(base64Encoded: "H4sIAAAAAAACA0stKkrMS1FIHaVQKQDOrcBHGAEAAA==") ?? Data()
    )
}
