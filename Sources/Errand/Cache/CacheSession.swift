import Foundation

/// The names of sessions, which are those of their folders.
enum CacheSession {
    /// Two sessions have the same name only if they have the same origin, environment and jar.
    static func name(of service: APIService, _ jar: CookieJar) -> String {
        "\(jar.cacheName)-\(service.login.cacheName)"
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
    let policy: CachePolicy
    /// Whether a response may be used that only the lack of another one permits.
    var usesStale = true
    let cache: APICache
    /// When the load began: a later change of the account does not affect it.
    let session: String
    /// The load fails where it would be sent.
    var failsWithoutNetwork = false
    var storesAdapted = false
    /// For ``CachePolicy/first``.
    var show: (@Sendable (any Sendable, APIResponse) -> Void)?

    /// That of the load which validates what this one has used.
    var revalidating: CacheUse {
        CacheUse(policy: .reload, cache: cache, session: session, storesAdapted: storesAdapted)
    }
}
