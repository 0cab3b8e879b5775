import Errand
import ErrandTesting
import Foundation
import Testing

@testable import ErrandSigning

@Suite("Signed parameters", .timeLimit(.minutes(5)))
struct ParamSigningTests {
    private let secret = "s3cret"

    private func signing(
        _ algorithm: ParamSigning.Algorithm = .md5,
        into place: ParamSigning.Place = .parameter("sign"),
        _ change: (inout ParamSigning) -> Void = { _ in }
    ) -> ParamSigning {
        var signing = ParamSigning(secret: secret, algorithm: algorithm, into: place)
        signing.makeNonce = NonceSequence().next
        change(&signing)
        return signing
    }

    private func scene(_ signing: ParamSigning) -> SigningScene { SigningScene { $0.sign(with: signing) } }

    // MARK: By openssl

    @Test(.enabled(if: OpenSSL.path != nil, "no openssl"), arguments: ParamSigning.Algorithm.allCases)
    func `The signature of a query is the digest of the sorted pairs, by openssl`(
        _ algorithm: ParamSigning.Algorithm
    ) async throws {
        let scene = scene(signing(algorithm))
        let params: APIParams = [
            "b": 2, "a": "x y&z", "é": "ü中", "Z": true, "list": [1, 2], "no": nil, "o": ["k": 0.5],
        ]
        try await scene.load("/goods", .get, params)
        let sent = try #require(scene.transport.requests.first).pairs()
        let text = "Z=true&a=x y&z&b=2&list[]=1&list[]=2&nonce=nonce-1&o[k]=0.5&timestamp=1700000000&é=ü中"
        let signed = algorithm == .hmacSHA256 ? text : text + secret
        #expect(sent["sign"] == (try OpenSSL.digest(algorithm, of: signed, secret: secret)))
        #expect(sent["timestamp"] == "1700000000")
        #expect(sent["nonce"] == "nonce-1")
        #expect(sent["a"] == "x y&z")
    }

    @Test(.enabled(if: OpenSSL.path != nil, "no openssl"), arguments: ParamSigning.Algorithm.allCases)
    func `The signature of a JSON body is the digest of its members as they are sent, by openssl`(
        _ algorithm: ParamSigning.Algorithm
    ) async throws {
        let scene = scene(signing(algorithm) { $0.secretPosition = .lastParameter("key") })
        let object: APIParams = ["z": 1, "a": ["x/y", nil, 1.5] as JSONValue]
        let params: APIParams = [
            "o": object, "text": "a\"b/ü", "no": nil, "yes": true, "half": 0.5, "large": UInt64.max, "list": [3, 1],
        ]
        try await scene.load("/goods", .post, params)
        let request = try #require(scene.transport.requests.first)
        let body = String(decoding: request.bodyData, as: UTF8.self)
        let text = """
            half=0.5&large=18446744073709551615&list=[3,1]&no=null&nonce=nonce-1&o={"a":["x/y",null,1.5],"z":1}\
            &text=a"b/ü&timestamp=1700000000&yes=true&key=s3cret
            """
        let digest = try OpenSSL.digest(algorithm, of: text, secret: secret)
        #expect(body.contains(#""sign":"\#(digest)""#))
        #expect(body.contains(#""o":{"a":["x/y",null,1.5],"z":1}"#))
        #expect(body.contains(#""timestamp":1700000000"#))
    }

    @Test func `Numbers are signed in a header as the body has them, in whichever notation`() async throws {
        let signing = signing(.hmacSHA256, into: .header("X-Sign")) {
            $0.nonce = nil
            $0.timestamp = nil
        }
        let scene = scene(signing)
        let values: [any Encodable & Sendable] = [
            Float(150_000_000), 1e16, UInt64(10_000_000_000_000_000_000), 1e-7, 0.1,
        ]
        for value in values {
            try await scene.load("/goods", .post, APIParams(["v": value]))
            let request = try #require(scene.transport.requests.last)
            let body = String(decoding: request.bodyData, as: UTF8.self)
            let text = body.replacing("{\"v\":", with: "v=").dropLast()
            #expect(
                request.headers["X-Sign"] == (try signing.signature(of: Array(text.utf8), secret: secret)),
                "\(body)"
            )
        }
    }

    /// Parameters of which several are written with one name, and their pairs.
    private static let colliding: [(params: APIParams, pairs: String)] = [
        (["a": [2, 1], "a[]": 3], "a[]=2&a[]=1&a[]=3"),
        (["a": ["b": 2] as APIParams, "a[b]": 1], "a[b]=2&a[b]=1"),
    ]

    @Test(arguments: colliding)
    func `Pairs of one name that several parameters have are signed in the order in which they are sent`(
        _ params: APIParams,
        _ pairs: String
    ) async throws {
        let signing = signing {
            $0.nonce = nil
            $0.timestamp = nil
        }
        let scene = scene(signing)
        for _ in 0..<20 { try await scene.load("/goods", .get, params) }
        let signature = try signing.signature(of: Array("\(pairs)\(secret)".utf8), secret: secret)
        for request in scene.transport.requests {
            #expect(request.url.query()?.removingPercentEncoding == "\(pairs)&sign=\(signature)")
        }
    }

    // MARK: Places

    @Test func `A signature in a header covers the parameters, which are sent as they are`() async throws {
        let signing = signing(.hmacSHA256, into: .header("X-Sign")) {
            $0.timestamp = .header("X-Time", signedAs: "time")
            $0.nonce = .header("X-Nonce")
            $0.timestampUnit = .milliseconds
        }
        let scene = scene(signing)
        try await scene.load("/goods", .post, ["b": 1, "a": ["c": 2]])
        let request = try #require(scene.transport.requests.first)
        #expect(String(decoding: request.bodyData, as: UTF8.self) == #"{"a":{"c":2},"b":1}"#)
        #expect(request.headers["X-Time"] == "1700000000000")
        let text = #"X-Nonce=nonce-1&a={"c":2}&b=1&time=1700000000000"#
        #expect(request.headers["X-Sign"] == (try signing.signature(of: Array(text.utf8), secret: secret)))
    }

    @Test func `A signature in a header covers a timestamp among the parameters`() async throws {
        let signing = signing(into: .header("X-Sign"))
        let scene = scene(signing)
        try await scene.load("/goods", .get, nil)
        let request = try #require(scene.transport.requests.first)
        #expect(request.url.query() == "nonce=nonce-1&timestamp=1700000000")
        let text = "nonce=nonce-1&timestamp=1700000000s3cret"
        #expect(request.headers["X-Sign"] == (try signing.signature(of: Array(text.utf8), secret: secret)))
    }

    @Test func `Common parameters are signed, and those in the path are not`() async throws {
        let signing = signing { $0.nonce = nil }
        let scene = SigningScene {
            $0.commonParams = { ["v": 3] }
            $0.sign(with: signing)
        }
        try await scene.load("/goods/{id}", .get, ["id": 7, "x": 1])
        let request = try #require(scene.transport.requests.first)
        #expect(request.url.path() == "/api/goods/7")
        let text = "timestamp=1700000000&v=3&x=1s3cret"
        #expect(request.pairs()["sign"] == (try signing.signature(of: Array(text.utf8), secret: secret)))
    }

    @Test func `A plain call and its query are signed`() async throws {
        let signing = signing()
        let scene = scene(signing)
        let url = try #require(URL(string: "/files?name=a+b%26c&b=1"))
        _ = try await scene.proxy.send(HTTPRequest(.post, url, body: .data(Data("x".utf8))), to: scene.service)
        let request = try #require(scene.transport.requests.first)
        let text = "b=1&name=a b&c&nonce=nonce-1&timestamp=1700000000s3cret"
        #expect(request.pairs()["sign"] == (try signing.signature(of: Array(text.utf8), secret: secret)))
        #expect(request.bodyData == Data("x".utf8))
        let filtered = try #require(URL(string: "/files?timestamp%5Bgte%5D=5"))
        _ = try await scene.proxy.send(HTTPRequest(.get, filtered), to: scene.service)
        let pairs = try #require(scene.transport.requests.last).pairs()
        #expect(pairs["timestamp[gte]"] == "5" && pairs["timestamp"] == "1700000000")
    }

    @Test(arguments: [.parameter("sign"), .header("X-Sign")] as [ParamSigning.Place])
    @MainActor func `A link that repeats the former time, nonce and signature is signed anew`(
        _ place: ParamSigning.Place
    ) async throws {
        let signing = signing(into: place)
        let scene = SigningScene({ try NotesRequest.linkedPage($0) }) { $0.sign(with: signing) }
        let list = NotesRequest(proxy: scene.proxy)
        let items = try await list.allItems(params: ["q": "tea"])
        #expect(items == [1, 2, 3])
        for (index, request) in scene.transport.requests.enumerated() {
            var pairs = request.pairs()
            let sent = pairs.removeValue(forKey: "sign") ?? request.headers["X-Sign"]
            #expect(pairs["nonce"] == "nonce-\(index + 1)" && pairs["q"] == "tea")
            let text = pairs.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: "&") + secret
            #expect(sent == (try signing.signature(of: Array(text.utf8), secret: secret)))
        }
    }

    // MARK: Sends

    @Test func `A retry is signed anew, with a new time and nonce`() async throws {
        let signing = signing()
        let scene = SigningScene({ _ in .status(503) }) {
            $0.retryPolicy = .once
            $0.sign(with: signing)
        }
        async let failure = scene.failure()
        await scene.clock.waitForSleepers()
        scene.clock.advance(by: .seconds(100))
        #expect(await failure?.status == 503)
        let sent = scene.transport.requests.map { $0.pairs() }
        #expect(sent.map { $0["timestamp"] } == ["1700000000", "1700000100"])
        #expect(sent.map { $0["nonce"] } == ["nonce-1", "nonce-2"])
        #expect(Set(sent.map { $0["sign"] }).count == 2)
    }

    @Test func `Loads that share an exchange do not where each has a nonce`() async throws {
        let scene = scene(signing())
        let options = APIRequestOptions(coalescesIdentical: true)
        try await withThrowingTaskGroup { group in
            for _ in 0..<5 { group.addTask { try await scene.load("/goods", .get, nil, options: options) } }
            try await group.waitForAll()
        }
        #expect(Set(scene.transport.requests.map { $0.pairs()["nonce"] }).count == 5)
    }

    @Test func `A nonce is 32 random hexadecimal digits`() {
        let make = ParamSigning(secret: "", algorithm: .md5, into: .parameter("sign")).makeNonce
        let nonces = (0..<100).map { _ in make() }
        #expect(Set(nonces).count == 100)
        #expect(nonces.allSatisfy { $0.wholeMatch(of: /[0-9a-f]{32}/) != nil })
    }

    // MARK: Failures

    @Test func `What the signature would replace fails the load before it is sent`() async throws {
        let scene = scene(signing())
        for name in ["sign", "timestamp", "nonce"] {
            let error = await scene.failure("/goods", .post, [name: "own"])
            #expect(error?.type == .invalidRequest)
            #expect(error?.reason == "there is a parameter \(name), which ParamSigning adds")
            #expect((error?.underlying as? SigningError)?.kind == .unsupportedRequest)
        }
        let header = SigningScene {
            $0.commonHeaders = { ["x-sign": "own"] }
            $0.sign(with: signing(into: .header("X-Sign")))
        }
        #expect(await header.failure()?.type == .invalidRequest)
        let mixed = self.scene(signing { $0.nonce = .header("X-Nonce") })
        #expect(await mixed.failure()?.type == .invalidRequest)
        #expect((scene.transport.requests + header.transport.requests + mixed.transport.requests).isEmpty)
    }

    @Test func `Nor may it replace a parameter of the path, or one that is sent as several pairs`() async throws {
        let scene = scene(signing())
        for (path, params) in [
            ("/snapshots/{timestamp}", ["timestamp": 1_690_000_000]), ("/goods", ["sign": ["a"]]),
        ] as [(String, APIParams)] {
            let error = await scene.failure(path, .get, params)
            #expect(error?.type == .invalidRequest)
            #expect(error?.reason?.hasSuffix("which ParamSigning adds") == true)
        }
        #expect(scene.transport.requests.isEmpty)
    }

    @Test func `A parameter that is not signed may be sent as several pairs`() async throws {
        let params: APIParams = ["tags": [1, 2], "a": 1]
        let scene = scene(signing { $0.unsignedNames = ["tags"] })
        let other = self.scene(signing())
        try await scene.load("/goods", .get, params)
        try await other.load("/goods", .get, ["a": 1])
        let signatures = (scene.transport.requests + other.transport.requests).map { $0.pairs()["sign"] }
        #expect(signatures.count == 2 && Set(signatures).count == 1)
    }

    @Test func `Nested values require an encoder with sorted keys`() async throws {
        let scene = SigningScene {
            $0.encoder = JSONEncoder()
            $0.sign(with: signing())
        }
        let error = await scene.failure("/goods", .post, ["filter": ["a": 1, "b": 2]])
        #expect(error?.type == .invalidRequest)
        #expect(error?.reason?.contains(".sortedKeys") == true)
        #expect(await scene.failure("/goods", .post, ["a": 1])?.type == nil)
        #expect(await scene.failure("/goods", .get, ["filter": ["a": 1, "b": 2]])?.type == nil)
    }

    @Test func `A secret may be asynchronous, and its error is that of the load`() async throws {
        let signing = ParamSigning(algorithm: .sha256, into: .parameter("sign")) {
            throw APIError(.loginExpired, message: "sign in")
        }
        #expect(await scene(signing).failure()?.message == "sign in")
    }

    @Test func `Signing again replaces the former signature`() async throws {
        let scene = SigningScene {
            $0.sign(with: signing())
            $0.sign(with: signing(into: .parameter("signature")))
        }
        try await scene.load()
        #expect(Set(try #require(scene.transport.requests.first).pairs().keys) == ["timestamp", "nonce", "signature"])
    }
}

@Suite("The text of which a signature is made")
struct SignedTextTests {
    private let secret = "s3cret"

    private func signing(
        _ algorithm: ParamSigning.Algorithm = .md5,
        _ change: (inout ParamSigning) -> Void = { _ in }
    ) -> ParamSigning {
        var signing = ParamSigning(secret: secret, algorithm: algorithm, into: .parameter("sign"))
        change(&signing)
        return signing
    }

    private static let fields = [
        SentParams.Field("b", "2"), SentParams.Field("a", "ü /"), SentParams.Field("n", "null", isNull: true),
        SentParams.Field("e", ""), SentParams.Field("x", "9"),
    ]

    struct TextCase: Sendable {
        let algorithm: ParamSigning.Algorithm
        let text: String
        var change: @Sendable (inout ParamSigning) -> Void = { _ in }
    }

    @Test(
        arguments: [
            TextCase(algorithm: .md5, text: "a=ü /&b=2&e=&n=null&x=9s3cret"),
            TextCase(algorithm: .hmacSHA256, text: "a=ü /&b=2&e=&n=null&x=9"),
            TextCase(algorithm: .hmacSHA256, text: "a=ü /&b=2&e=&n=null&x=9&key=s3cret") {
                $0.secretPosition = .lastParameter("key")
            },
            TextCase(algorithm: .sha1, text: "s3creta=ü /&b=2&e=&n=null&x=9") { $0.secretPosition = .prepended },
            TextCase(algorithm: .sha256, text: "s3creta=ü /&b=2&e=&n=null&x=9s3cret") {
                $0.secretPosition = .surrounding
            },
            TextCase(algorithm: .md5, text: "a=ü /&b=2&c=s3cret&e=&n=null&x=9") {
                $0.secretPosition = .sortedParameter("c")
            },
            TextCase(algorithm: .md5, text: "a=ü /&b=2&x=9s3cret") { $0.omitsEmptyValues = true },
            TextCase(algorithm: .md5, text: "aü /b2ennullx9s3cret") {
                ($0.valueSeparator, $0.pairSeparator) = ("", "")
            },
            TextCase(algorithm: .md5, text: "a=%C3%BC%20%2F&b=2&e=&n=null&x=9s3cret") { $0.percentEncodes = true },
            TextCase(algorithm: .md5, text: "a=ü /&e=&n=null&x=9s3cret") { $0.unsignedNames = ["b"] },
        ]
    )
    func `The signed text has the separators and the secret where they are set`(_ sample: TextCase) {
        let signing = signing(sample.algorithm, sample.change)
        #expect(String(decoding: signing.text(of: Self.fields, secret: secret), as: UTF8.self) == sample.text)
    }

    @Test func `Names are sorted by the bytes of UTF-8, and equal ones keep their order`() {
        let names = ["\u{FF5E}", "\u{1F600}", "z", "é", "e\u{301}", "Z", "a[]", "a", "a[]"]
        let fields = names.enumerated().map { SentParams.Field($1, "\($0)") }
        let text = signing(.hmacSHA256).text(of: fields, secret: "")
        #expect(
            String(decoding: text, as: UTF8.self)
                == "Z=5&a=7&a[]=6&a[]=8&e\u{301}=4&z=2&é=3&\u{FF5E}=0&\u{1F600}=1"
        )
    }

    @Test func `Names are sorted by all their bytes, and separators may have any length`() {
        let names = [
            "itemNumber10", "itemNumb", "itemNumber1", "", "itemNumber", "item", "itemNumber\u{0}", "item\u{0}",
        ]
        let fields = names.enumerated().map { SentParams.Field($1, "\($0)") }
        let signing = signing(.hmacSHA256) { ($0.valueSeparator, $0.pairSeparator) = (" is ", ", ") }
        let text = """
             is 3, item is 5, item\u{0} is 7, itemNumb is 1, itemNumber is 4, itemNumber\u{0} is 6, itemNumber1 is 2, \
            itemNumber10 is 0
            """
        #expect(String(decoding: signing.text(of: fields, secret: ""), as: UTF8.self) == text)
    }

    @Test func `A digest is written in digits of either case or in Base64`() throws {
        let texts = try [ParamSigning.Encoding.hex, .upperHex, .base64].map { encoding in
            try signing { $0.encoding = encoding }.signature(of: [], secret: "")
        }
        #expect(
            texts == [
                "d41d8cd98f00b204e9800998ecf8427e", "D41D8CD98F00B204E9800998ECF8427E", "1B2M2Y8AsgTpgAmY7PhCfg==",
            ]
        )
    }
}
