import Errand
import ErrandTesting
import Foundation
import Testing

@testable import ErrandSigning

@Suite("Corrected clocks of signatures", .timeLimit(.minutes(5)))
struct ClockCorrectionTests {
    /// A server that is some seconds ahead of the clock of the test, and refuses other timestamps.
    private final class Server: Sendable {
        private let ahead: Lock<Double>
        private let clock = Lock<ManualClock?>(nil)

        init(ahead: Double) { self.ahead = Lock(ahead) }

        func setAhead(_ seconds: Double) { ahead.withLock { $0 = seconds } }

        func use(_ clock: ManualClock) { self.clock.withLock { $0 = clock } }

        var date: Date { (clock.withLock { $0?.date } ?? .now).addingTimeInterval(ahead.withLock { $0 }) }

        func response(to request: HTTPRequest) -> HTTPResponse {
            let timestamp = Double(request.pairs()["timestamp"] ?? "") ?? 0
            let isStale = abs(timestamp - date.timeIntervalSince1970) > 30
            return isStale ? refusal : .json(#"{"errcode":200}"#)
        }

        var refusal: HTTPResponse { .json(#"{"errcode":40103,"msg":"stale"}"#, headers: ["Date": text(of: date)]) }

        /// Returns a `Date` (RFC 9110 section 5.6.7).
        private func text(of date: Date) -> String {
            let formatter = DateFormatter()
            formatter.locale = Locale(identifier: "en_US_POSIX")
            formatter.timeZone = TimeZone(secondsFromGMT: 0)
            formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            return formatter.string(from: date)
        }
    }

    private func scene(
        _ server: Server,
        _ correction: ClockCorrection = .onCodes([40103]),
        _ script: ScriptedTransport.Script? = nil
    ) -> SigningScene {
        let scene = SigningScene(script ?? { server.response(to: $0) }) {
            var signing = ParamSigning(secret: "s3cret", algorithm: .md5, into: .parameter("sign"))
            signing.clockCorrection = correction
            $0.envelope = Envelope()
            $0.sign(with: signing)
        }
        server.use(scene.clock)
        return scene
    }

    private func timestamps(_ scene: SigningScene) -> [String?] {
        scene.transport.requests.map { $0.pairs()["timestamp"] }
    }

    private func load(_ scene: SigningScene) async -> APIError? {
        do {
            try await APIRequest<Void>("/goods", proxy: scene.proxy).value()
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [-3_600, 3_600] as [Double])
    func `A stale timestamp is corrected, and the load is sent again once`(_ ahead: Double) async throws {
        let scene = scene(Server(ahead: ahead))
        #expect(await load(scene)?.type == nil)
        let corrected = "\(1_700_000_000 + Int(ahead))"
        #expect(timestamps(scene) == ["1700000000", corrected])
        scene.clock.advance(by: .seconds(10))
        #expect(await load(scene)?.type == nil)
        #expect(timestamps(scene).last == "\(1_700_000_010 + Int(ahead))")
        #expect(scene.transport.requests.count == 3)
        #expect(Set(scene.transport.requests.map { $0.pairs()["nonce"] }).count == 3)
    }

    @Test func `The date of a response that a cache on the way has stored is as old as that says`() async throws {
        let (server, old) = (Server(ahead: 500), Server(ahead: 200))
        let scene = scene(server, .onCodes([40103])) { request in
            var response = server.response(to: request)
            // The same refusal, of 300 seconds ago.
            if response.headers["Date"] != nil {
                response.headers = old.refusal.headers
                response.headers["Age"] = "300"
            }
            return response
        }
        old.use(scene.clock)
        #expect(await load(scene)?.type == nil)
        #expect(timestamps(scene) == ["1700000000", "1700000500"])
    }

    @Test func `A server that refuses the corrected timestamp too fails the load with its own code`() async throws {
        let server = Server(ahead: 500)
        let scene = scene(server, .onCodes([40103])) { _ in server.refusal }
        let error = await load(scene)
        #expect(error?.type == .server)
        #expect(error?.code == 40103)
        #expect(scene.transport.requests.count == 2)
    }

    @Test func `A stale timestamp is corrected also after another adapter has had the load sent again`() async {
        let server = Server(ahead: 500)
        let isFirst = Lock(true)
        let scene = SigningScene({ server.response(to: $0) }) {
            var signing = ParamSigning(secret: "s3cret", algorithm: .md5, into: .parameter("sign"))
            signing.clockCorrection = .onCodes([40103])
            $0.envelope = Envelope()
            let key = Adapter<APIResponse> { _, _ in
                if isFirst.withLock({ exchange(&$0, with: false) }) { throw AdapterRetry.again() }
            }
            $0.adapters.response = [key]
            $0.sign(with: signing)
        }
        server.use(scene.clock)
        #expect(await load(scene) == nil)
        #expect(scene.transport.requests.count == 3)
    }

    /// The clock of a device, which its user sets.
    private final class SetClock: APIClock {
        private let clock: ManualClock
        private let offset = Lock<Double>(-3_600)
        init(_ clock: ManualClock) { self.clock = clock }
        func set() { offset.withLock { $0 = 0 } }
        var uptime: Duration { clock.uptime }
        var date: Date { clock.date.addingTimeInterval(offset.withLock(\.self)) }
        func sleep(for duration: Duration) async throws(CancellationError) { try await clock.sleep(for: duration) }
    }

    @Test func `A request is sent again if the device's clock was set since it was signed`() async throws {
        let server = Server(ahead: 0)
        let device = Lock<SetClock?>(nil)
        let scene = scene(server, .onCodes([40103])) { request in
            device.withLock(\.self)?.set()
            return server.response(to: request)
        }
        let clock = SetClock(scene.clock)
        device.withLock { $0 = clock }
        let proxy = APIProxy(service: scene.service, transport: scene.transport, clock: clock)
        try await APIRequest<Void>("/goods", proxy: proxy).value()
        #expect(timestamps(scene) == ["1699996400", "1700000000"])
    }

    @Test func `A slow refusal of a right timestamp is not sent again`() async throws {
        let server = Server(ahead: 0)
        let clock = Lock<ManualClock?>(nil)
        let scene = scene(server, .onCodes([40103])) { _ in
            clock.withLock(\.self)?.advance(by: .seconds(60))
            return server.refusal
        }
        clock.withLock { $0 = scene.clock }
        #expect(await load(scene)?.code == 40103)
        #expect(scene.transport.requests.count == 1)
    }

    @Test func `A date beyond the limit, or none, corrects nothing`() async throws {
        var correction = ClockCorrection.onCodes([40103])
        correction.limit = .seconds(60)
        let far = scene(Server(ahead: 61), correction)
        #expect(await load(far)?.code == 40103)
        #expect(far.transport.requests.count == 1)
        for date in [nil, "", "yesterday"] as [String?] {
            let scene = scene(Server(ahead: 0), .onCodes([40103])) { _ in
                .json(#"{"errcode":40103}"#, headers: ["Date": date])
            }
            #expect(await load(scene)?.code == 40103)
            #expect(scene.transport.requests.count == 1)
        }
    }

    @Test func `All loads of a service and its copies share the correction`() async throws {
        let server = Server(ahead: 1_000)
        let scene = scene(server)
        await withTaskGroup { group in
            for _ in 0..<100 { group.addTask { #expect(await load(scene)?.type == nil) } }
        }
        #expect(scene.transport.requests.count <= 200)
        let count = scene.transport.requests.count
        var copy = scene.service
        copy.timeout = .seconds(5)
        let proxy = APIProxy(service: copy, transport: scene.transport, clock: scene.clock)
        try await APIRequest<Void>("/goods", proxy: proxy).value()
        #expect(scene.transport.requests.count == count + 1)
    }

    @Test func `A late response to an older request does not undo a newer correction`() async throws {
        let server = Server(ahead: 1_000)
        let (gate, release) = AsyncStream<Void>.makeStream()
        let isFirst = Lock(true)
        let scene = scene(server, .onCodes([40103])) { request in
            guard
                isFirst.withLock({ first in
                    defer { first = false }; return first
                })
            else {
                return server.response(to: request)
            }
            let old = server.refusal
            for await _ in gate {}
            return old
        }
        async let late = load(scene)
        await scene.transport.waitForRequests()
        scene.clock.advance(by: .seconds(5))
        server.setAhead(2_000)
        #expect(await load(scene)?.type == nil)
        scene.clock.advance(by: .seconds(5))
        release.finish()
        #expect(await late?.type == nil)
        #expect(timestamps(scene).last == "1700002010")
        #expect(scene.transport.requests.count == 4)
    }

    @Test func `Each environment has its own correction`() async throws {
        let server = Server(ahead: 700)
        let scene = scene(server)
        #expect(await load(scene)?.type == nil)
        let url = try #require(URL(string: "https://staging.test"))
        scene.proxy.defaultService?.environment = APIEnvironment("staging", baseURL: url)
        server.setAhead(0)
        #expect(await load(scene)?.type == nil)
        #expect(timestamps(scene) == ["1700000000", "1700000700", "1700000000"])
    }

    @Test func `Without a correction, a stale timestamp is a failure`() async throws {
        let server = Server(ahead: 700)
        let scene = SigningScene({ server.response(to: $0) }) {
            $0.envelope = Envelope()
            $0.sign(with: ParamSigning(secret: "s3cret", algorithm: .md5, into: .parameter("sign")))
        }
        server.use(scene.clock)
        #expect(await load(scene)?.code == 40103)
        #expect(scene.transport.requests.count == 1)
    }

    @Test(
        arguments: [
            (403, [:], #"{"__type":"com.amazon.coral.service#InvalidSignatureException"}"#, true),
            (403, [:], "<Error><Code>RequestTimeTooSkewed</Code></Error>", true),
            (400, ["x-amzn-ErrorType": "RequestExpired:http://x"], "", true),
            (403, [:], "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>", true),
            (403, [:], "<Error><Code>AccessDenied</Code></Error>", false), (500, [:], "RequestExpired", false),
        ] as [(Int, HTTPHeaders, String, Bool)]
    )
    func `The errors with which AWS refuses a timestamp are known`(
        _ status: Int,
        _ headers: HTTPHeaders,
        _ body: String,
        _ isStale: Bool
    ) throws {
        let raw = HTTPResponse(status: status, headers: headers, body: Data(body.utf8))
        let response = APIResponse(raw, url: try #require(URL(string: "https://a.test")))
        #expect(ClockCorrection.aws.isStale(response) == isStale)
    }

    @Test func `A status or a nested code refuses a timestamp`() throws {
        let url = try #require(URL(string: "https://a.test"))
        let response = APIResponse(.json(#"{"error":{"code":"STALE"}}"#, status: 498), url: url)
        #expect(ClockCorrection.onStatuses([498]).isStale(response))
        #expect(!ClockCorrection.onStatuses([403]).isStale(response))
        #expect(ClockCorrection.onCodes(["STALE"], at: "error.code").isStale(response))
        #expect(!ClockCorrection.onCodes(["STALE"]).isStale(response))
    }

    @Test func `An AWS signature is corrected as well`() async throws {
        let scene = SigningScene({ request in
            if request.headers["X-Amz-Date"] == "20231114T232320Z" { return .json("{}") }
            let headers: HTTPHeaders = ["Date": "Tue, 14 Nov 2023 23:23:20 GMT"]
            return .json(#"{"__type":"RequestTimeTooSkewed"}"#, status: 403, headers: headers)
        }) {
            var signature = AWSSignature(region: "r", service: "s") { AWSSignatureTests.credentials }
            signature.clockCorrection = .aws
            $0.sign(with: signature)
        }
        try await scene.load()
        #expect(scene.transport.requests.count == 2)
    }
}
