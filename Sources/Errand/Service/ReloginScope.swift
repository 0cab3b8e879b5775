import Synchronization

/// The call of a ``ReloginHandler`` in which the current task runs, or in which it was started.
///
/// A load of the session that begins there is a login request: otherwise it would wait for the relogin, which may wait for the
/// load. Child tasks and `Task { }` inherit the scope; a detached task does not.
final class ReloginScope: Sendable {
    @TaskLocal static var current: ReloginScope?

    let service: APIService
    /// What the scope is for, other than a relogin.
    private let owner: ObjectIdentifier?
    // A relogin of one service may need another service, whose login has expired as well.
    private let outer: ReloginScope?
    private let hasEnded = Atomic(false)
    // When it began.
    private let (endedSessions, logouts): (Int, Int)
    /// For loads that begin when the cookies are those of the next user.
    private let separateCookies = Lock<CookieJar?>(nil)

    init(of service: APIService, owner: AnyObject? = nil) {
        self.service = service
        self.owner = owner.map(ObjectIdentifier.init)
        outer = Self.open
        (endedSessions, logouts) = (service.login.sessions.ended, CookieJar.logoutCount)
        Self.openCount.add(1, ordering: .relaxed)
    }

    deinit { end() }

    /// When the handler has returned, loads that its tasks begin later are ordinary ones.
    func end() {
        let isFirst = !hasEnded.exchange(true, ordering: .relaxed)
        if isFirst { Self.openCount.subtract(1, ordering: .relaxed) }
    }

    /// Most loads begin while there is none, and need not look for theirs (`errand-bench load`).
    private static let openCount = Atomic(0)

    static var open: ReloginScope? { openCount.load(ordering: .relaxed) > 0 ? current?.innermostOpen : nil }
    static var isOpen: Bool { open != nil }

    /// Also in a handler for which loads of all services are login requests.
    static func covers(_ login: LoginSession) -> Bool {
        innermost { $0.service.login === login || $0.owner != nil } != nil
    }

    static func isInScope(of owner: AnyObject) -> Bool { innermost { $0.owner == ObjectIdentifier(owner) } != nil }

    static func environment(of logins: LoginSessions) -> APIEnvironment? {
        innermost { $0.service.logins === logins }?.service.environment
    }

    private static func innermost(where condition: (ReloginScope) -> Bool) -> ReloginScope? {
        var scope = open
        while let next = scope, !condition(next) { scope = next.outer?.innermostOpen }
        return scope
    }

    /// `nil` in a scope with an ``owner``.
    static var loginOwner: LoginOwner? {
        open.flatMap { $0.owner == nil ? $0.service.loginOwner : nil }
    }

    private var innermostOpen: ReloginScope? {
        hasEnded.load(ordering: .relaxed) ? outer?.innermostOpen : self
    }
}

// The cookies of a relogin are those of its session, also after a change of the account.

extension ReloginScope {
    /// `nil` outside of a relogin.
    static var ofSession: ReloginScope? { innermost { $0.owner == nil } }

    /// Returns the jar of a load that begins; `cookies` are those that its proxy has by now.
    func jar(for service: APIService?, sentBy proxy: AnyObject, with cookies: CookieJar) -> CookieJar {
        let (name, owner) = (service?.environment.name ?? "", self.service.loginOwner)
        let own = service?.logins === self.service.logins ? self.service.cookies : service?.cookies
        // What those of another proxy were is not known.
        if own == nil, owner?.proxy !== proxy, hasSessionEnded { return separateJar(of: name) }
        let jar = (own ?? (owner?.proxy === proxy ? owner?.cookies : nil) ?? cookies).jar(of: name)
        return hasLost(jar) ? separateJar(of: name) : jar
    }

    /// Whether the cookies of a jar are those of the next user: a logout has ended the session, and has removed them.
    ///
    /// A handler that has removed them itself needs those that it receives afterwards.
    func hasLost(_ jar: CookieJar) -> Bool { hasSessionEnded && jar.newestLogout > logouts }

    private var hasSessionEnded: Bool { service.login.sessions.ended != endedSessions }

    private func separateJar(of environment: String) -> CookieJar {
        let new = CookieJar()
        let jar = separateCookies.withLock { cookies in
            cookies = cookies ?? new
            return cookies ?? new
        }
        return jar.jar(of: environment)
    }
}

/// Those whose login a relogin renews, which its requests inherit.
final class LoginOwner: Sendable {
    /// Without the changes that the requests of the loads make.
    let service: APIService
    /// Its type is of a higher layer.
    let proxy: any AnyObject & Sendable
    /// Those of the proxy, which a change of the account replaces.
    let cookies: CookieJar

    init(_ service: APIService, proxy: any AnyObject & Sendable, _ cookies: CookieJar) {
        (self.service, self.proxy, self.cookies) = (service, proxy, cookies)
    }
}

extension APIService {
    /// Records what the requests of a relogin inherit that a load of this service may start.
    mutating func setLoginOwner(sentBy proxy: any AnyObject & Sendable, with cookies: @autoclosure () -> CookieJar) {
        guard reloginHandler != nil else { return }
        loginOwner = LoginOwner(self, proxy: proxy, cookies())
    }

    /// Runs `work`, in which loads of all services neither queue nor wait for a relogin, as in ``ReloginHandler/relogin()``.
    ///
    /// For work that loads wait for while the queue has admitted them: without this, the loads of `work` would wait for them.
    package func withLoginRequests<Result>(
        of owner: AnyObject,
        _ work: () async throws -> Result
    ) async rethrows -> Result {
        let scope = ReloginScope(of: self, owner: owner)
        defer { scope.end() }
        return try await EnvironmentScope.$current.withValue(environment) {
            try await ReloginScope.$current.withValue(scope, operation: work)
        }
    }

    package static func isInLoginRequests(of owner: AnyObject) -> Bool { ReloginScope.isInScope(of: owner) }
}

/// The role of a load in signing in.
enum LoginRole: Sendable {
    case none
    /// It began inside a relogin, which may wait for it.
    case partOfRelogin
    case signIn

    /// Whether it neither queues nor waits for a login.
    var isLoginRequest: Bool { self != .none }
}

/// In what code of the app runs for a load, whichever task or thread runs it.
///
/// One load starts the work of others, and one hop to the main actor ends many, so task-local values of the app are not among it:
/// they would be those of another load.
package struct LoadScope: Sendable {
    // Loads that begin in it are part of the same relogin.
    private let relogin = ReloginScope.open
    // A test's.
    private let sharedProxy = SharedProxyScope.replacement

    package init() {}

    package func run(_ work: () -> Void) {
        SharedProxyScope.$replacement.withValue(sharedProxy) {
            ReloginScope.$current.withValue(relogin, operation: work)
        }
    }

    /// Begins a task that inherits nothing else.
    func task(
        priority: TaskPriority? = nil,
        _ work: @escaping @concurrent @Sendable () async -> Void
    ) -> Task<Void, Never> {
        guard relogin != nil || sharedProxy != nil else { return Task.detached(priority: priority, operation: work) }
        return Task.detached(priority: priority) { [self] in
            await SharedProxyScope.$replacement.withValue(sharedProxy) {
                await ReloginScope.$current.withValue(relogin, operation: work)
            }
        }
    }
}

/// What a test has in place of the shared proxy, whose type is of a higher layer.
package enum SharedProxyScope {
    @TaskLocal package static var replacement: (any AnyObject & Sendable)?
}
