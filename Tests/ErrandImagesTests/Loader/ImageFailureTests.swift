import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandImages
@testable import ErrandTestSupport

@MainActor @Suite("Images that fail", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(5)))
struct ImageFailureTests {
    private let decodings = DecodingLog()

    private func loader(
        _ server: FixtureServer,
        _ kind: TransportKind,
        limits: ImageLimits = ImageLimits(),
        service change: (inout APIService) -> Void = { _ in }
    ) throws -> ImageLoader<Picture> {
        var service = APIService(baseURL: server.baseURL)
        change(&service)
        let proxy = APIProxy(service: service, transport: try kind.make())
        return ImageLoader(proxy: proxy, decoder: decodings.decoder(bytes: 1), limits: limits)
    }

    private nonisolated static let page = "<!DOCTYPE html><html><body>Sign in to this network</body></html>"

    @Test(arguments: TransportKind.allCases)
    func `A status is http, a page is decoding, and a failure in an envelope is server`(_ kind: TransportKind)
        async throws
    {
        let server = try FixtureServer.start { request in
            switch request.path {
            case "/404.png": .status(404)
            case "/page.png": .text(Self.page, headers: ["X-Kind": "page"])
            case "/sold.png": .json(bytes: #"{"errcode":5001,"msg":"sold out"}"#.utf8)
            case "/json.png": .json(bytes: #"{"errcode":200,"data":"7.png"}"#.utf8)
            case "/empty.png": .bytes([])
            case "/204.png": .status(204)
            case "/short.png": .bytes(Array(PNGFile.bytes(7).prefix(40)))
            case "/signature.png": .bytes(Array(PNGFile.bytes(7).prefix(6)))
            case "/damaged.png": .bytes(PNGFile.bytes(0))
            case "/error.png": .bytes(PNGFile.bytes(7), status: 500)
            default: .bytes(PNGFile.bytes(7))
            }
        }
        let loader = try loader(server, kind) { $0.retryPolicy = .never }
        let expected = [
            "404": "http 404", "page": "decoding unknownFormat", "sold": "server", "json": "decoding unknownFormat",
            "short": "decoding truncated", "signature": "decoding truncated", "damaged": "decoding damaged",
            "error": "http 500", "7": "image 7",
        ]
        for (name, outcome) in expected {
            #expect(await loader.outcome(of: ImageRequest(URL("/\(name).png"))) == outcome, "\(name)")
        }
        for name in ["empty", "204"] {
            let outcome = await loader.outcome(of: ImageRequest(URL("/\(name).png")))
            #expect(outcome.hasPrefix("decoding"), "\(name): \(outcome)")
        }
        #expect(decodings.count == 1)
    }

    @Test func `An error names what was received`() async throws {
        let server = try FixtureServer.start { _ in .text(Self.page) }
        let loader = try loader(server, .allCases[0])
        let error = await #expect(throws: APIError.self) {
            try await loader.image(for: ImageRequest(URL("/page.png")))
        }
        #expect(error?.underlying as? ImageError == .unknownFormat)
        #expect(error?.response?.status == 200)
        #expect(error?.description.contains("Sign in") == false)
    }

    @Test(arguments: TransportKind.allCases, [false, true])
    func `A bomb is refused from its first bytes, while the server holds the rest`(
        _ kind: TransportKind,
        _ isChunked: Bool
    ) async throws {
        let gate = Gate()
        defer { gate.open() }
        let server = try FixtureServer.start { _ in
            let beginning = PNGFile.beginning(50_000, height: 50_000)
            let length: HeaderLines = isChunked ? ["Transfer-Encoding": "chunked"] : ["Content-Length": "30000000"]
            let head = Response(status: 200, headers: length, steps: [])
            return head.followed(by: isChunked ? .chunk(beginning) : .write(beginning), .pass(gate))
        }
        let loader = try loader(server, kind)
        #expect(await loader.outcome(of: ImageRequest(URL("/bomb.png"))) == "responseTooLarge tooManyPixels")
        #expect(!gate.isOpen)
        #expect(await server.waitForOpenConnections(0))
        #expect(server.totalRequests == 1)
        #expect(decodings.count == 0)
    }

    @Test(arguments: TransportKind.allCases)
    func `A body beyond the limit is refused as soon as that many bytes have arrived`(_ kind: TransportKind)
        async throws
    {
        let gate = Gate()
        defer { gate.open() }
        let server = try FixtureServer.start { request in
            let file = PNGFile.bytes(7, size: request.path == "/fits.png" ? 10_000 : 10_001)
            let head = Response(status: 200, headers: ["Transfer-Encoding": "chunked"], steps: [])
            guard request.path != "/fits.png" else { return .chunked([file]) }
            return head.followed(by: .chunk(file), .pass(gate))
        }
        let loader = try loader(server, kind, limits: ImageLimits(bytes: 10_000))
        #expect(await loader.outcome(of: ImageRequest(URL("/large.png"))) == "responseTooLarge tooManyBytes")
        #expect(await loader.outcome(of: ImageRequest(URL("/fits.png"))) == "image 7")
    }

    @Test(arguments: TransportKind.allCases)
    func `A page beyond the limit is refused although it may be an envelope`(_ kind: TransportKind) async throws {
        let gate = Gate()
        defer { gate.open() }
        let server = try FixtureServer.start { _ in
            let head = Response(status: 200, headers: ["Transfer-Encoding": "chunked"], steps: [])
            return head.followed(by: .chunk(Array("{".utf8) + [UInt8](repeating: 0x20, count: 20_000)), .pass(gate))
        }
        let loader = try loader(server, kind, limits: ImageLimits(bytes: 10_000))
        #expect(await loader.outcome(of: ImageRequest(URL("/page.png"))).hasPrefix("responseTooLarge"))
    }

    @Test(arguments: TransportKind.allCases)
    func `A page of more than a MiB is not received to its end`(_ kind: TransportKind) async throws {
        let gate = Gate()
        defer { gate.open() }
        let server = try FixtureServer.start { _ in
            let head = Response(status: 200, headers: ["Transfer-Encoding": "chunked"], steps: [])
            let page = Array(Self.page.utf8) + [UInt8](repeating: 0x0A, count: 1 << 20)
            return head.followed(by: .chunk(page), .pass(gate), .lastChunk())
        }
        let loader = try loader(server, kind)
        #expect(await loader.outcome(of: ImageRequest(URL("/page.png"))) == "decoding unknownFormat")
        #expect(await server.waitForOpenConnections(0))
    }

    @Test(arguments: TransportKind.allCases)
    func `The limits of the service apply as well`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { request in
            let file = PNGFile.bytes(7, size: 10_000)
            return request.path == "/chunked.png" ? .chunked([file]) : .bytes(file)
        }
        let loader = try loader(server, kind) { $0.limits.bodyBytes = 9_999 }
        for name in ["known", "chunked"] {
            #expect(await loader.outcome(of: ImageRequest(URL("/\(name).png"))) == "responseTooLarge")
        }
    }

    @Test func `A serializer that builds on that of images checks them while they arrive as well`() throws {
        let image = ResponseSerializer<ImageContent>.image()
        let checks: [BodyCheck?] = [
            image.map(\.data).bodyCheck, image.combined(with: .constant(1)).bodyCheck,
            ResponseSerializer.constant(1).combined(with: image).bodyCheck,
        ]
        for optional in checks {
            let check = try #require(optional)
            let results = [PNGFile.beginning(50_000, height: 50_000), PNGFile.beginning(7, height: 1)].map { bytes in
                bytes.withUnsafeBytes { bytes in Result { () throws(APIError) in try check(bytes) } }
            }
            #expect(results.map { $0.error?.type } == [.responseTooLarge, nil])
        }
        #expect(ResponseSerializer<Data>.data.bodyCheck == nil)
    }

    @Test func `A loader without limits loads an image`() async throws {
        let scene = ImageScene(limits: ImageLimits(pixels: .max, bytes: .max))
        #expect(await scene.loader.outcome(of: ImageScene.image(7)) == "image 7")
        let server = try FixtureServer.start { _ in .bytes(PNGFile.bytes(7)) }
        let live = try loader(server, .allCases[0], limits: ImageLimits(pixels: .max, bytes: .max))
        #expect(await live.outcome(of: ImageScene.image(7)) == "image 7")
    }

    @Test(arguments: [0, 100, 10_000, 5 << 20, .max])
    func `No check asks for more bytes than show that an image is beyond its limit`(_ limit: Int) throws {
        let check = try #require(ResponseSerializer.image(limits: ImageLimits(bytes: limit)).bodyCheck)
        for bytes in [Array("{".utf8), Array(Self.page.utf8), PNGFile.bytes(7), Array(PNGFile.bytes(7).prefix(20))] {
            let next = bytes.withUnsafeBytes { bytes in Result { () throws(APIError) in try check(bytes) } }
            switch next {
            case .success(let count):
                #expect(count.map { $0 > bytes.count && $0 - 1 <= limit } ?? (limit == .max))
            case .failure(let error): #expect(error.type == .responseTooLarge && bytes.count > limit)
            }
        }
    }

    @Test func `What is refused is not requested again`() async throws {
        let server = try FixtureServer.start { _ in .bytes(PNGFile.bytes(50_000, height: 50_000)) }
        let loader = try loader(server, .allCases[0])
        var results = 0
        for _ in 0..<5 { loader.load(ImageRequest(URL("/bomb.png"))) { _ in results += 1 } }
        await suspend(while: results < 5)
        #expect(server.totalRequests == 1)
        // A failure is not remembered.
        #expect(await loader.outcome(of: ImageRequest(URL("/bomb.png"))).hasPrefix("responseTooLarge"))
        #expect(server.totalRequests == 2)
    }

    @Test func `An image whose connection is lost is requested again by the policy`() async throws {
        let count = Counter()
        let server = try FixtureServer.start { _ in
            let file = PNGFile.bytes(7, size: 1_000)
            guard count.next() == 1 else { return .bytes(file) }
            let head = Response(status: 200, headers: ["Content-Length": "1000"], steps: [])
            return head.followed(by: .write(Array(file.prefix(500))), .reset)
        }
        let loader = try loader(server, .allCases[0])
        #expect(await loader.outcome(of: ImageScene.image(7)) == "image 7")
        #expect(server.totalRequests == 2)
    }

    @Test func `With response adapters, what was sealed is opened before it is examined`() async throws {
        let server = try FixtureServer.start { request in
            let file = request.path == "/7.png" ? PNGFile.bytes(7) : PNGFile.bytes(50_000, height: 50_000)
            return .bytes(file.map { $0 ^ 0xFF })
        }
        let loader = try loader(server, .allCases[0]) { service in
            service.adapters.response.append(
                Adapter { response, _ in response.body = Data(response.body.map { $0 ^ 0xFF }) }
            )
        }
        #expect(await loader.outcome(of: ImageScene.image(7)) == "image 7")
        #expect(await loader.outcome(of: ImageScene.image(8)) == "responseTooLarge tooManyPixels")
    }

    @Test func `A deadline or a timeout ends all callers`() async throws {
        let scene = ImageScene(holds: true, options: APIRequestOptions(deadline: .seconds(5)))
        let receipts = [scene.load(7, "a"), scene.load(7, "b")]
        await scene.reach(1)
        await scene.clock.waitForSleepers()
        scene.clock.advance(by: .seconds(5))
        await scene.end(2)
        #expect(scene.endings == ["a: timeout", "b: timeout"])
        withExtendedLifetime(receipts) {}
    }
}
