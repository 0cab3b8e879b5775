/// What changes while the shop is open: sessions, carts and the log.
final class ShopStore: Sendable {
    private struct State {
        var sessions: [ShopSession] = []
        var carts: [String: [Int: Int]] = [:]
        var log = ShopLog()
    }

    private let state = Guarded(State())

    /// The log so far.
    var log: ShopLog { state.withLock(\.log) }

    /// Starts the log anew.
    func clearLog() {
        state.withLock { $0.log = ShopLog() }
    }

    /// Notes that a path was asked for.
    func noteHit(_ path: String) {
        state.withLock { $0.log.hits[path, default: 0] += 1 }
    }

    /// Begins a session.
    func signIn(_ account: String) -> ShopSession {
        state.withLock { state in
            let session = ShopSession(account: account)
            state.sessions.append(session)
            state.log.logins += 1
            return session
        }
    }

    /// Ends the sessions that fit.
    func signOut(_ credentials: ShopCredentials) {
        state.withLock { state in
            state.sessions.removeAll { credentials.fit($0) }
            state.log.logouts += 1
        }
    }

    /// The live session that fits, one call poorer.
    ///
    /// - Throws: ``ShopRefusal`` as the session's end is to be told, or HTTP 401 where there never was one.
    func authorize(_ credentials: ShopCredentials) throws(ShopRefusal) -> ShopSession {
        let (session, style) = state.withLock { state in
            let fitting = state.sessions.indices.filter { credentials.fit(state.sessions[$0]) }
            guard let live = fitting.first(where: { state.sessions[$0].callsLeft != 0 }) else {
                state.log.refused += 1
                return (ShopSession?.none, fitting.first.map { state.sessions[$0].style } ?? .http)
            }
            if let left = state.sessions[live].callsLeft { state.sessions[live].callsLeft = left - 1 }
            return (state.sessions[live], .http)
        }
        guard let session else { throw .signedOut(style) }
        return session
    }

    /// Lets the sessions that fit end after so many calls.
    func expire(_ credentials: ShopCredentials, after calls: Int, style: SessionExpiryStyle) {
        change(credentials) { session in
            session.callsLeft = calls
            session.style = style
        }
    }

    /// Changes the sessions that fit.
    func change(_ credentials: ShopCredentials, _ change: (inout ShopSession) -> Void) {
        state.withLock { state in
            for index in state.sessions.indices where credentials.fit(state.sessions[index]) {
                change(&state.sessions[index])
            }
        }
    }

    /// Counts a page of orders; throws when it is the one that is to fail.
    func notePage(of credentials: ShopCredentials) throws(ShopRefusal) {
        var fails = false
        change(credentials) { session in
            fails = fails || session.pagesLeft == 0
            session.pagesLeft = session.pagesLeft.flatMap { $0 > 0 ? $0 - 1 : nil }
        }
        guard !fails else { throw .broken }
    }

    /// How many of each goods an account has in its cart.
    func cart(_ account: String) -> [Int: Int] {
        state.withLock { $0.carts[account] ?? [:] }
    }

    /// Puts `count` more of a goods into the cart, or takes some out; never more than `limit`.
    func changeCart(_ account: String, goods: Int, by count: Int, limit: Int = .max) throws(ShopRefusal) {
        let fits = state.withLock { state in
            let old = state.carts[account, default: [:]][goods, default: 0]
            let (sum, overflow) = old.addingReportingOverflow(count)
            guard !overflow, sum <= limit else { return false }
            state.carts[account, default: [:]][goods] = sum > 0 ? sum : nil
            return true
        }
        guard fits else { throw .outOfStock }
    }
}

/// What the shop was asked for.
package struct ShopLog: Sendable, Codable, Equatable {
    /// How many sign-ins succeeded.
    package var logins = 0
    /// How many times someone signed out.
    package var logouts = 0
    /// How many calls were refused because their session was over, as 401 or in an envelope.
    package var refused = 0
    /// How often each path was asked for.
    package var hits: [String: Int] = [:]
}
