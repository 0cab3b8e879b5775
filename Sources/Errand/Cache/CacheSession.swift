import Foundation

/// The names of sessions, which are those of their folders.
enum CacheSession {
    /// Two sessions have the same name only if they have the same origin, environment and jar, and both send its cookies.
    ///
    /// It begins with that of the jar, so that all sessions of one can be ended together; then comes the time of the last logout,
    /// so that nothing is found of what another process stores before it knows of that.
    static func name(of service: APIService, _ jar: CookieJar, sendsCookies: Bool) -> String {
        "\(jar.cacheName)-\(jar.clearedName)-\(service.login.cacheName)\(sendsCookies ? "" : "-plain")"
    }

    /// A jar in memory ends with its process.
    static func isOfEndedProcess(_ name: String) -> Bool {
        let mark = CookieFile.memoryMark
        guard name.hasPrefix(mark), let pid = pid_t(name.dropFirst(mark.count).prefix { $0 != "-" }) else {
            return false
        }
        return kill(pid, 0) != 0 && errno == ESRCH
    }
}

/// How a load uses the cache of its proxy.
struct CacheUse: Sendable {
    /// Called with the stored response that a load shows, or without one.
    typealias ShowHandler = @Sendable ((any Sendable, APIResponse)?) -> Void

    /// What is stored has its key.
    let policy: CachePolicy
    let cache: APICache
    /// That of the session in which the load began; `nil` if it cannot be used.
    let folder: CacheFolder?
    /// Whether the load is one of a list that is loaded again.
    var isReloading = false
    /// Whether a response may be used that only the lack of another one permits.
    var usesStale = true
    /// The load fails where it would be sent.
    var failsWithoutNetwork = false
    var storesAdapted = false
    /// For ``CachePolicy/first``.
    var show: ShowHandler?

    /// What decides.
    var rule: CachePolicy { isReloading ? policy.reloading : policy }

    /// Whether a load may end before it has a place in the queue.
    func readsFirst(_ method: HTTPMethod) -> Bool {
        rule.readsFirst && (policy.isRule || policy == .onlyIfCached || method == .get || method == .head)
    }

    /// For a request whose stored response may be too old.
    var sendingAgain: CacheUse {
        var use = self
        (use.isReloading, use.usesStale, use.show) = (true, false, nil)
        return use
    }

    /// That of the load which validates what this one has used.
    var revalidating: CacheUse {
        CacheUse(policy: .reload, cache: cache, folder: folder, usesStale: false, storesAdapted: storesAdapted)
    }
}
