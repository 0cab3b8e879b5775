public import Foundation

/// An installation of a backend, such as production or staging.
///
/// ```swift
/// extension APIEnvironment {
///     static let production = APIEnvironment("production", baseURL: URL(string: "https://api.shop.example/v1")!)
///     static let staging = APIEnvironment("staging", baseURL: URL(string: "https://staging.shop.example/v1")!)
/// }
///
/// APIProxy.shared.defaultService = APIService(environment: .production)
/// APIProxy.shared.defaultService?.environment = .staging
/// ```
///
/// A load keeps the environment in which it began, also for retries, for its relogin, and for the attempt after the relogin. A
/// load that begins inside ``ReloginHandler/relogin()`` and names no service uses the service and environment of the loads that
/// need the relogin. A service that a request or a call names keeps its own environment.
///
/// Each environment has a separate login, so a relogin delays no load of another environment. It also has a separate cookie jar
/// beside the jar of the service or of the proxy: for a jar with the file `cookies.txt`, the environment's file is
/// `cookies-staging.txt` in the same folder.
///
/// Store a separate token for each environment. Return the token of the ``current`` environment from
/// ``APIService/commonHeaders``, or set the closures of each environment in ``changes``. With one token for all environments, a
/// load that is retried after a change of the environment would send the new environment's token to the origin of the old one.
public struct APIEnvironment: Sendable {
    /// The name that identifies the environment within its service.
    ///
    /// Empty for a service that was created with a base URL; such a service uses the proxy's own cookie jar.
    public let name: String
    /// The URL, including its path, to which the paths of requests are appended.
    public var baseURL: URL
    /// Header lines of every request, which replace ``APIService/commonHeaders`` of the same name; none by default.
    public var headers: HTTPHeaders
    /// Changes the service for the loads of this environment, for instance its relogin handler or its deadline; `nil`, the
    /// default, changes nothing.
    ///
    /// Called with a copy of the service when a load begins, on any thread. Changing the copy's environment has no effect.
    public var changes: (@Sendable (inout APIService) -> Void)?

    /// Creates an environment.
    ///
    /// - Parameters:
    ///   - name: The name; must differ from the names of the other environments.
    ///   - baseURL: An absolute `http` or `https` URL.
    ///   - headers: Header lines of every request.
    ///   - changes: Changes the service for the loads of this environment; see ``changes``.
    public init(
        _ name: String,
        baseURL: URL,
        headers: HTTPHeaders = [:],
        changes: (@Sendable (inout APIService) -> Void)? = nil
    ) {
        self.name = name
        self.baseURL = baseURL
        self.headers = headers
        self.changes = changes
    }
}

extension APIEnvironment {
    /// The environment for which common headers or parameters, an adapter, ``RetryPolicy/decide`` or a member of a relogin handler
    /// is called; `nil` anywhere else, also in ``APIService/isLoginExpired``, failure readers, error messages and serializers.
    ///
    /// In ``APIService/commonHeaders``, ``APIService/commonParams`` and adapters, this is the environment of the load. In all
    /// members of ``ReloginHandler``, it is the environment of the loads that need the login. Changing the service's environment
    /// meanwhile does not affect it.
    ///
    /// ```swift
    /// service.commonHeaders = { ["Authorization": await store.token(of: .current)] }
    /// ```
    ///
    /// Tasks that begin in such a call inherit the environment; detached tasks do not.
    public static var current: APIEnvironment? { EnvironmentScope.current }
}

/// The environment of the closure of a service or of the relogin handler in which the current task runs.
enum EnvironmentScope {
    @TaskLocal static var current: APIEnvironment?
    /// Whether a load waits for the closure that may have a place in the queue, so that the loads of the closure must not queue.
    @TaskLocal static var isOfLoad = false

    static func runForLoad<Result>(
        in environment: APIEnvironment,
        _ work: () async throws -> Result
    ) async rethrows -> Result {
        try await $current.withValue(environment) { try await $isOfLoad.withValue(true, operation: work) }
    }
}

extension APIEnvironment: Hashable {
    /// Whether name and base URL are equal.
    public static func == (lhs: APIEnvironment, rhs: APIEnvironment) -> Bool {
        lhs.name == rhs.name && lhs.baseURL == rhs.baseURL
    }

    /// Hashes the name and the base URL.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(baseURL)
    }
}

extension APIEnvironment: RedactedDescription {
    /// The name, and the base URL without user and password.
    public var description: String {
        (name.isEmpty ? "" : "\(name), ") + Redactor.shared.url(baseURL.absoluteString)
    }
}

/// The login sessions of a service and its copies: one for each environment and origin.
final class LoginSessions: Sendable {
    /// By the names of the environments, and their origins.
    private let sessions = Lock<[String: [String: LoginSession]]>([:])

    var all: [LoginSession] { sessions.withLock { $0.values.flatMap(\.values) } }
    var environmentNames: Set<String> { sessions.withLock { Set($0.keys) } }

    func session(of environment: APIEnvironment) -> LoginSession {
        let (name, origin) = (environment.name, environment.baseURL.originText)
        let new = LoginSession(cacheName: Checksum.name(of: Array("\(origin)\n\(name)".utf8)))
        return sessions.withLock { $0[name, default: [:]].value(for: origin, orElse: new) }
    }
}

extension APIService {
    /// In a relogin, the default service has the environment of that.
    ///
    /// In a relogin of another service, whose credentials are not for the default one, `inherited` replaces it.
    static func forNewLoad(
        _ named: APIService?,
        inheriting inherited: APIService? = nil,
        or defaultService: @autoclosure () -> APIService?
    ) -> APIService? {
        if let named { return named.forNewLoad }
        let service = defaultService()
        if let inherited, inherited.logins !== service?.logins { return inherited }
        guard var service else { return nil }
        if let environment = ReloginScope.environment(of: service.logins) { service.environment = environment }
        return service.forNewLoad
    }

    /// With the changes of its environment.
    package var forNewLoad: APIService {
        guard let changes = environment.changes else { return self }
        var service = self
        changes(&service)
        service.environment = environment
        return service
    }
}
