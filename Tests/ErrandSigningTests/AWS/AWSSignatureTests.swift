import Errand
import ErrandTesting
import Foundation
import Testing

@testable import ErrandSigning

@Suite("Requests with an AWS signature", .timeLimit(.minutes(5)))
struct AWSSignatureTests {
    static let credentials = AWSCredentials(accessKeyID: "AKIDEXAMPLE", secretAccessKey: "s3cret/key")

    private func signature(
        _ service: String = "execute-api",
        _ change: (inout AWSSignature) -> Void = { _ in }
    ) -> AWSSignature {
        var signature = AWSSignature(region: "eu-central-1", service: service) { Self.credentials }
        change(&signature)
        return signature
    }

    private func scene(_ signature: AWSSignature) -> SigningScene { SigningScene { $0.sign(with: signature) } }

    private func signed(
        _ request: HTTPRequest,
        _ signature: AWSSignature,
        with credentials: AWSCredentials = credentials,
        at date: Date = SigningScene.start
    ) throws -> HTTPRequest {
        var request = request
        try AWSSigner(options: signature).sign(&request, with: credentials, at: date)
        return request
    }

    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test func `Stored responses are found for URLs that a signature writes otherwise, without credentials`()
        async throws
    {
        let isOnline = Lock(true)
        let signature = AWSSignature(region: "eu-central-1", service: "execute-api") {
            guard isOnline.withLock(\.self) else { throw APIError(.noNetwork) }
            return Self.credentials
        }
        var service = APIService(baseURL: try url("https://SHOP.test/api"))
        (service.envelope, service.retryPolicy) = (nil, .never)
        service.sign(with: signature)
        let transport = ScriptedTransport { _ in .json("[7]", headers: ["Cache-Control": "max-age=600"]) }
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-signing-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let proxy = APIProxy(service: service, transport: transport, cache: APICache(folder: folder))
        func load(_ policy: CachePolicy) async throws -> [Int] {
            let options = APIRequestOptions(cachePolicy: policy)
            return try await APIRequest<[Int]>("/search", params: ["q": "green tea"], options: options, proxy: proxy)
                .value()
        }
        #expect(try await load(.http) == [7])
        isOnline.withLock { $0 = false }
        #expect(try await load(.http) == [7])
        #expect(try await load(.onlyIfCached) == [7])
        #expect(transport.requests.count == 1)
    }

    // MARK: What is signed

    @Test func `A load has the headers of its signature, whose host has no default port`() async throws {
        let scene = scene(signature())
        try await scene.load("/goods", .post, ["a": 1])
        let headers = try #require(scene.transport.requests.first).headers
        #expect(headers["X-Amz-Date"] == "20231114T221320Z")
        #expect(headers["X-Amz-Content-Sha256"] == nil)
        let authorization = try #require(headers["Authorization"])
        let start = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20231114/eu-central-1/execute-api/aws4_request, "
        #expect(authorization.hasPrefix(start + "SignedHeaders=content-type;host;x-amz-date, Signature="))
    }

    @Test(arguments: [
        ("https://a.test:443/x", "a.test"), ("http://a.test:443/x", "a.test:443"), ("Https://a.test:443/", "a.test"),
        ("https://a.test:8443", "a.test:8443"),
        ("http://a.test:/x", "a.test"), ("http://a.test:080/x", "a.test"), ("http://a.test:08080/x", "a.test:8080"),
        ("http://%61.test:80", "a.test"), ("http://u:80@a.test", "a.test"), ("http://[::1]/", "[::1]"),
        ("http://[::1]:80/", "[::1]"), ("http://[::1]:81/", "[::1]:81"),
    ])
    func `The host is signed as it is sent`(text: String, host: String) throws {
        let url = try #require(WireURL(url(text)))
        #expect(String(decoding: url.host, as: UTF8.self) == host)
    }

    @Test func `Header lines that a connection changes are not signed`() throws {
        var request = HTTPRequest(.get, try url("https://a.test/"))
        for name in [
            "User-Agent", "Accept-Encoding", "Expect", "Proxy-Authorization", "Cookie", "X-Amzn-Trace-Id", "TE",
            // Changed by the cache and by a stream.
            "If-None-Match", "If-Modified-Since", "Range", "If-Range", "Last-Event-ID",
        ] {
            request.headers.append(name, "x")
        }
        request.headers.append("X-Own", "1")
        let names = try signed(request, signature()).headers["Authorization"]?.firstMatch(of: /SignedHeaders=([^,]*),/)?
            .1
        #expect(names == "host;x-amz-date;x-own")
    }

    @Test func `A body in pieces and files has the hash of all its bytes`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "errand-payload-\(UUID())")
        let bytes = Data((0..<700_001).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        try bytes.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let body = HTTPBody([.data(Data("head".utf8)), .file(file), .data(Data())])
        #expect(try PayloadHash.text(of: body) == PayloadHash.text(of: .data(Data("head".utf8) + bytes)))
        #expect(try PayloadHash.text(of: .empty) == PayloadHash.text(of: .data(Data())))
    }

    @Test func `A stream cannot be signed, unless its payload is unsigned`() async throws {
        let stream = HTTPBody.stream { AsyncStream<Data> { $0.finish() } }
        var request = HTTPRequest(.put, try url("/upload"))
        request.body = stream
        let scene = scene(signature("s3"))
        let error = await #expect(throws: APIError.self) { try await scene.proxy.send(request, to: scene.service) }
        #expect(error?.type == .invalidRequest)
        #expect(error?.reason?.contains("AWSSignature.payload can be .unsigned") == true)
        let unsigned = self.scene(signature("execute-api") { $0.payload = .unsigned })
        _ = try await unsigned.proxy.send(request, to: unsigned.service)
        let headers = try #require(unsigned.transport.requests.first).headers
        #expect(headers["X-Amz-Content-Sha256"] == "UNSIGNED-PAYLOAD")
        #expect(headers["Authorization"]?.contains("host;x-amz-content-sha256;x-amz-date") == true)
    }

    @Test func `A pipe in the place of a file is refused, and blocks nothing`() throws {
        let pipe = FileManager.default.temporaryDirectory.appending(path: "errand-pipe-\(UUID())")
        try #require(mkfifo(pipe.path, 0o600) == 0)
        defer { try? FileManager.default.removeItem(at: pipe) }
        let error = #expect(throws: APIError.self) { try PayloadHash.text(of: .file(pipe)) }
        #expect(error?.type == .invalidRequest)
        #expect(throws: SigningError.self) { try HTTPBody.file(pipe).bytes(limit: 100) }
    }

    @Test func `A missing file fails the load with invalidRequest`() async throws {
        let scene = scene(signature())
        let request = HTTPRequest(.put, try url("/upload"), body: .file(URL(filePath: "/nonexistent/file")))
        let error = await #expect(throws: APIError.self) { try await scene.proxy.send(request, to: scene.service) }
        #expect(error?.type == .invalidRequest)
        #expect(scene.transport.requests.isEmpty)
    }

    @Test func `S3 signs the path as it is, encodes it once, and has the hash of the body`() throws {
        let path = Array("/a//./b%20c@%7e".utf8)[...]
        let s3 = CanonicalPath(isNormalized: false, isEncodedTwice: false).bytes(of: path)
        #expect(String(decoding: s3, as: UTF8.self) == "/a//./b%20c%40~")
        let other = CanonicalPath(isNormalized: true, isEncodedTwice: true).bytes(of: path)
        #expect(String(decoding: other, as: UTF8.self) == "/a/b%2520c%40%257e")
        let request = try signed(HTTPRequest(.get, url("https://b.s3.test/a//b")), signature("s3"))
        let hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        #expect(request.headers["X-Amz-Content-Sha256"] == hash)
        #expect(request.url.absoluteString == "https://b.s3.test/a//b")
    }

    @Test(arguments: [
        ["a=1", "a=2", "a=3", "b=0"], ["a=", "a=%20", "a=0", "a=a"], ["A=2", "A=9", "a=1", "a=1"],
        // By the bytes of what is encoded, in which a percent sign comes before letters.
        ["x=%C3%A9", "x=A", "x=B", "y="], ["a=2", "a-b=1", "a1=0", "aa=0"], ["k=1", "k=10", "k=2", "k%2F=0"],
    ])
    func `A query is signed in the order of its names and then of its values`(_ sorted: [String]) throws {
        let expected = sorted.joined(separator: "&")
        for first in sorted.indices {
            for step in [1, 3] {
                let items = sorted.indices.map { sorted[(first + $0 * step) % sorted.count] }
                let query = Array(items.joined(separator: "&").utf8)[...]
                #expect(String(decoding: CanonicalQuery(query).bytes, as: UTF8.self) == expected, "\(items)")
            }
        }
    }

    @Test func `A space in the query is signed and sent as %20`() throws {
        let request = HTTPRequest(.get, try url("https://a.test/x?q=a+b%2Bc&e"))
        #expect(try signed(request, signature()).url.absoluteString == "https://a.test/x?q=a%20b%2Bc&e")
        #expect(
            String(decoding: CanonicalQuery(Array("q=a+b%2Bc&e".utf8)[...]).bytes, as: UTF8.self) == "e=&q=a%20b%2Bc"
        )
        let presigned = try signed(request, signature { $0.form = .query(expiry: .seconds(60)) }).url.absoluteString
        #expect(presigned.hasPrefix("https://a.test/x?q=a%20b%2Bc&e&X-Amz-Algorithm=AWS4-HMAC-SHA256&"))
        #expect(presigned.contains("&X-Amz-Expires=60&"))
    }

    @Test func `The signing key is that of the day and the credentials`() throws {
        let (shared, request) = (signature(), HTTPRequest(.get, try url("https://a.test/")))
        let other = AWSCredentials(accessKeyID: "AKIDEXAMPLE", secretAccessKey: "other", sessionToken: "token")
        for (days, credentials) in [(0, Self.credentials), (1, Self.credentials), (1, other), (0, Self.credentials)] {
            let date = SigningScene.start.addingTimeInterval(Double(days) * 86_400)
            let cached = try signed(request, shared, with: credentials, at: date)
            let fresh = try signed(request, signature(), with: credentials, at: date)
            #expect(cached.headers["Authorization"] == fresh.headers["Authorization"])
            #expect(cached.headers["X-Amz-Security-Token"] == credentials.sessionToken)
        }
    }

    @Test(
        arguments: [
            (0, "19700101T000000Z"), (951_782_400, "20000229T000000Z"), (-1, "19691231T235959Z"),
            (4_107_542_399, "21000228T235959Z"), (4_107_542_400, "21000301T000000Z"),
            (1_709_210_096, "20240229T123456Z"),
            (1e15, "99991231T235959Z"),
        ] as [(Double, String)]
    )
    func `A moment is written in UTC`(_ seconds: Double, _ text: String) {
        #expect(CredentialScope.text(of: Date(timeIntervalSince1970: seconds)) == text)
    }

    // MARK: Sends

    @Test func `Loads of one moment share an exchange`() async throws {
        let (gate, signature) = (AsyncStream<Void>.makeStream(), signature())
        let scene = SigningScene({ _ in
            for await _ in gate.stream {}
            return .json("{}")
        }) { $0.sign(with: signature) }
        let options = APIRequestOptions(coalescesIdentical: true)
        try await withThrowingTaskGroup { group in
            for _ in 0..<5 { group.addTask { try await scene.load("/goods", .get, nil, options: options) } }
            await scene.transport.waitForRequests()
            gate.continuation.finish()
            try await group.waitForAll()
        }
        #expect(Set(scene.transport.requests.map { $0.headers["Authorization"] }).count == 1)
    }

    @Test @MainActor func `A link that repeats a signature in its query is signed anew`() async throws {
        let options = self.signature { $0.form = .query(expiry: .seconds(60)) }
        let scene = SigningScene({ try NotesRequest.linkedPage($0) }) { $0.sign(with: options) }
        let list = NotesRequest(proxy: scene.proxy)
        let items: [Int] = try await list.allItems(params: ["q": "tea"])
        #expect(items == [1, 2, 3])
        for (index, request) in scene.transport.requests.enumerated() {
            #expect(request.url.absoluteString.ranges(of: "X-Amz-Signature=").count == 1)
            let query = index == 0 ? "q=tea" : "q=tea&page=\(index + 1)"
            let unsigned = HTTPRequest(.get, try url("https://shop.test/api/notes?\(query)"))
            let expected = try self.signed(unsigned, options).pairs()
            #expect(expected == request.pairs())
        }
    }

    // MARK: Failures

    @Test func `What the signature would replace, or a wrong expiry, fails the load before it is sent`() async throws {
        for name in ["Authorization", "x-amz-date", "X-Amz-Security-Token", "X-Amz-Content-Sha256"] {
            let signature = signature()
            let scene = SigningScene {
                $0.commonHeaders = { [name: "own"] }
                $0.sign(with: signature)
            }
            let error = await scene.failure()
            #expect(error?.type == .invalidRequest)
            #expect(error?.reason?.lowercased().contains(name.lowercased()) == true)
            #expect((error?.underlying as? SigningError)?.kind == .unsupportedRequest)
            #expect(scene.transport.requests.isEmpty)
        }
        for expiry in [Duration.zero, .seconds(604_801)] {
            let scene = scene(signature { $0.form = .query(expiry: expiry) })
            #expect(await scene.failure()?.type == .invalidRequest)
        }
    }

    @Test func `An error of the credentials is that of the load`() async throws {
        struct NoCredentials: Error {}
        let scene = scene(AWSSignature(region: "r", service: "s") { throw APIError(.loginExpired, message: "sign in") })
        #expect(await scene.failure()?.message == "sign in")
        let other = self.scene(AWSSignature(region: "r", service: "s") { throw NoCredentials() })
        let error = await other.failure()
        #expect(error?.type == .invalidRequest)
        #expect(error?.underlying is NoCredentials)
    }

    @Test func `A load that is cancelled while its credentials are made is not sent`() async throws {
        let (started, continuation) = AsyncStream<Void>.makeStream()
        let scene = scene(
            AWSSignature(region: "r", service: "s") {
                continuation.finish()
                try await Task.sleep(for: .seconds(3_600))
                return Self.credentials
            }
        )
        let load = Task { await scene.failure()?.type }
        for await _ in started {}
        load.cancel()
        #expect(await load.value == .cancelled)
        #expect(scene.transport.requests.isEmpty)
    }

    // MARK: Secrets

    @Test func `No description and no error has a secret`() async throws {
        let credentials = AWSCredentials(accessKeyID: "AKID", secretAccessKey: "s3ntinel-1", sessionToken: "s3ntinel-2")
        let signature = AWSSignature(region: "r", service: "s") { credentials }
        let signing = ParamSigning(secret: "s3ntinel-3", algorithm: .md5, into: .parameter("sign"))
        let scene = SigningScene({ _ in .status(403) }) {
            $0.sign(with: signature)
            $0.sign(with: signing)
        }
        let error = try #require(await scene.failure())
        let request = try #require(scene.transport.requests.first)
        let values: [Any] = [
            credentials, signature, signing, scene.service, error, request, AWSSigner(options: signature),
            ParamSigner(signing: signing), ClockCorrection.aws, signature.serverClock, signature.keys,
        ]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] {
                #expect(!text.contains("s3ntinel"), "\(type(of: value))")
            }
        }
    }
}

@Suite("Each send of a load has a signature of its own", .timeLimit(.minutes(5)))
struct SignedReplayTests {
    @Test func `A replay after a relogin is signed anew, with the time after it`() async throws {
        let signature = AWSSignature(region: "eu-central-1", service: "execute-api") { AWSSignatureTests.credentials }
        let account = Account()
        let scene = SigningScene({ $0.headers["X-Amz-Date"] == "20231114T221320Z" ? .status(401) : .json("{}") }) {
            $0.reloginHandler = account
            $0.sign(with: signature)
        }
        account.clock.withLock { $0 = scene.clock }
        try await scene.load()
        let headers = scene.transport.requests.map(\.headers)
        #expect(headers.map { $0["X-Amz-Date"] } == ["20231114T221320Z", "20231114T221321Z"])
        #expect(Set(headers.map { $0["Authorization"] }).count == 2)
    }

    @Test func `A retry is signed anew`() async throws {
        let signature = AWSSignature(region: "eu-central-1", service: "execute-api") { AWSSignatureTests.credentials }
        let scene = SigningScene({ _ in .status(503) }) {
            $0.retryPolicy = .once
            $0.sign(with: signature)
        }
        async let failure = scene.failure()
        await scene.clock.waitForSleepers()
        scene.clock.advance(by: .seconds(100))
        #expect(await failure?.status == 503)
        let headers = scene.transport.requests.map(\.headers)
        #expect(headers.map { $0["X-Amz-Date"] } == ["20231114T221320Z", "20231114T221500Z"])
        #expect(Set(headers.map { $0["Authorization"] }).count == 2)
    }
}

/// A login that takes one second.
@MainActor private final class Account: ReloginHandler {
    nonisolated let clock = Lock<ManualClock?>(nil)

    func relogin() async throws { clock.withLock { $0 }?.advance(by: .seconds(1)) }
}
