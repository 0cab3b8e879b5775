import Errand
import ErrandImages
import ErrandInspector
import ErrandSigning
import FixtureServer
import Foundation

/// The objects that the app creates once, at its start, and passes to its screens.
@MainActor struct App {
    let baseURL: URL
    let proxy: APIProxy
    let account: Account
    /// The pictures of the goods, which are not decoded, because they are not drawn.
    let images: ImageLoader<ImageContent>
    let transport = StartingLine(before: SystemTransport())
    let wire = Wire()
    let terminal = Terminal()

    /// Starts the app for the shop at `baseURL`; the cookies in `cookieFile`, and the stored responses beside it, are all that
    /// remains of an earlier start.
    ///
    /// - Parameters:
    ///   - baseURL: The URL of the shop.
    ///   - cookieFile: The file with the cookies.
    ///   - recorder: Records the exchanges of all proxies of the app.
    init(baseURL: URL, cookieFile: URL, recorder: HARRecorder? = nil) {
        self.baseURL = baseURL
        let monitors: [any APIMonitor] = [wire] + (recorder.map { [$0] } ?? [])
        let responses = cookieFile.deletingLastPathComponent().appending(path: "responses")
        proxy = APIProxy(
            transport: transport,
            cookies: CookieJar(file: cookieFile),
            monitors: monitors,
            cache: APICache(folder: responses)
        )
        account = Account(proxy: proxy)
        proxy.defaultService = .shop(at: baseURL, account: account)
        images = ImageLoader(proxy: proxy, decoder: ImageDecoder(bytes: \.data.count) { content, _ in content })
    }

    /// Takes the network away: nothing that is sent from now on has a response.
    func goOffline() { transport.goOffline() }

    /// Returns another proxy on the same connections.
    func proxy(for service: APIService? = nil, clock: any APIClock = SystemClock()) -> APIProxy {
        APIProxy(service: service, transport: transport, clock: clock, monitors: proxy.monitors)
    }

    /// Shows the exchanges in the log, of many the first ones.
    func showWire() {
        let (exchanges, limit) = (wire.exchanges, 32)
        guard !exchanges.isEmpty else { return }
        terminal.write()
        terminal.write(Table(Array(exchanges.prefix(limit))), .quiet)
        if exchanges.count > limit { terminal.write("   and \(exchanges.count - limit) more", .quiet) }
    }
}

/// The customer's account: keeps the token, and signs in again when the session has expired.
@MainActor final class Account: ReloginHandler, APIManagerParamSource {
    // The headers are read on any thread.
    nonisolated private let token = Lock<String?>(nil)
    private unowned let proxy: APIProxy
    private var credentials: Credentials?
    /// The number of expired sessions that could not be renewed.
    private(set) var expiredSessions = 0

    /// Creates an account without a session; `proxy` is not retained.
    init(proxy: APIProxy) {
        self.proxy = proxy
    }

    /// The headers of every request.
    nonisolated var headers: HTTPHeaders {
        guard let token = token.withLock(\.self) else { return [:] }
        return ["X-Token": token]
    }

    /// Keeps the token and the credentials of a sign-in.
    func signedIn(_ response: SignedIn, with credentials: Credentials) {
        self.credentials = credentials
        token.withLock { $0 = response.token }
    }

    /// Removes the token and the credentials.
    func signedOut() {
        credentials = nil
        token.withLock { $0 = nil }
    }

    func relogin() async throws {
        guard let credentials else { throw NotSignedIn() }
        let response = try await LoginRequest(paramSource: self, proxy: proxy).value()
        // A customer who has signed out meanwhile stays signed out.
        guard self.credentials != nil else { throw NotSignedIn() }
        signedIn(response, with: credentials)
    }

    func sessionDidExpire(_ error: APIError) {
        expiredSessions += 1
    }

    func params(for request: BaseAPIRequest) -> APIParams? { credentials.map { APIParams(encoding: $0) } }
}

/// The error of a relogin without credentials.
private struct NotSignedIn: Error {}

extension APIService {
    /// The shop's API: its base URL, the headers of every request and the relogin handler.
    static func shop(at baseURL: URL, account: Account) -> APIService {
        var service = APIService(baseURL: baseURL)
        service.timeout = .seconds(20)
        service.commonHeaders = { account.headers }
        service.reloginHandler = account
        service.errorMessages = ErrorMessages(byType: [.timeout: "网络太慢，请稍后再试", .loginExpired: "请先登录"])
        return service
    }

    /// The shop's API for partners, who sign their requests; the server's date may correct the clock of the device.
    static func partner(at baseURL: URL, correctsClock: Bool) -> APIService {
        var signing = ParamSigning(secret: ShopSignature.secret, algorithm: .hmacSHA256, into: .parameter("sign"))
        if correctsClock { signing.clockCorrection = .onCodes([40_002]) }
        var service = APIService(baseURL: baseURL)
        service.sign(with: signing)
        return service
    }

    /// The shop's API for payments, whose bodies are sealed.
    static func wallet(at baseURL: URL, keys: WalletKeys) -> APIService {
        var service = APIService(baseURL: baseURL)
        service.seal(with: TrafficSealing(cipher: .aesGCM, keyExchange: keys, expiredCodes: [41_001]))
        return service
    }
}

/// Agrees with the shop on session keys, which both derive from a secret that they share.
final class WalletKeys: KeyExchange {
    private let proxy: APIProxy
    private let latest = Lock<String?>(nil)

    /// Creates an exchange whose requests are sent by `proxy`.
    init(proxy: APIProxy) {
        self.proxy = proxy
    }

    /// The ID of the latest key.
    var latestID: String? { latest.withLock { $0 } }

    func sessionKey() async throws -> SessionKey {
        let nonce = UUID().uuidString
        let response = try await WalletKeyRequest(proxy: proxy).value(params: ["nonce": nonce])
        let bytes = SHA256.hmac(of: "\(nonce)|\(response.nonce)".utf8, key: ShopSessionKey.secret.utf8)
        latest.withLock { $0 = response.id }
        return SessionKey(id: response.id, bytes: Data(bytes))
    }
}

/// The clock of a device whose date is wrong.
struct WrongClock: APIClock {
    private let clock = SystemClock()
    /// How far the date is from the right one, in seconds.
    let error: TimeInterval

    var uptime: Duration { clock.uptime }
    var date: Date { clock.date.addingTimeInterval(error) }

    func sleep(for duration: Duration) async throws(CancellationError) { try await clock.sleep(for: duration) }
}
