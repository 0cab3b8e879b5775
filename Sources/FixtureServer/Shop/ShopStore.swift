import Errand
import Synchronization

/// The mutable state of the shop: sessions, carts and the log.
final class ShopStore: Sendable {
    private struct State {
        var sessions: [ShopSession] = []
        var carts: [String: [Int: Int]] = [:]
        /// The timestamps of the nonces that were used.
        var nonces: [String: Int] = [:]
        var sessionKeys: [ShopSessionKey] = []
        var log = ShopLog()
    }

    private let state = Mutex(State())

    var log: ShopLog { state.withLock(\.log) }

    func clearLog() {
        state.withLock { $0.log = ShopLog() }
    }

    func countRequest(_ path: String) {
        state.withLock { $0.log.hits[path, default: 0] += 1 }
    }

    func signIn(_ account: String) -> ShopSession {
        state.withLock { state in
            let session = ShopSession(account: account)
            state.sessions.append(session)
            state.log.logins += 1
            return session
        }
    }

    func signOut(_ credentials: ShopCredentials) {
        state.withLock { state in
            state.sessions.removeAll { credentials.fit($0) }
            state.log.logouts += 1
        }
    }

    /// Returns the live session that matches, and counts the call.
    ///
    /// - Throws: ``ShopRefusal`` in the style of the expired session; with HTTP 401 when no session matches.
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

    /// Lets the sessions that match expire after this many calls.
    func expire(_ credentials: ShopCredentials, after calls: Int, style: SessionExpiryStyle) {
        change(credentials) { session in
            session.callsLeft = calls
            session.style = style
        }
    }

    func change(_ credentials: ShopCredentials, _ change: (inout ShopSession) -> Void) {
        state.withLock { state in
            for index in state.sessions.indices where credentials.fit(state.sessions[index]) {
                change(&state.sessions[index])
            }
        }
    }

    /// Counts a page of orders.
    ///
    /// - Throws: ``ShopRefusal`` with HTTP 500 for the page that is to fail.
    func countPage(of credentials: ShopCredentials) throws(ShopRefusal) {
        var fails = false
        change(credentials) { session in
            fails = fails || session.pagesLeft == 0
            session.pagesLeft = session.pagesLeft.flatMap { $0 > 0 ? $0 - 1 : nil }
        }
        guard !fails else { throw .broken }
    }

    /// Keeps the nonce of a signature for as long as its timestamp is accepted.
    ///
    /// - Throws: ``ShopRefusal`` for a nonce that was used before.
    func use(_ signature: ShopSignature) throws(ShopRefusal) {
        let isNew = state.withLock { state in
            state.nonces = state.nonces.filter { $0.value >= signature.timestamp - 2 * ShopSignature.tolerance }
            return state.nonces.updateValue(signature.timestamp, forKey: signature.nonce) == nil
        }
        guard isNew else { throw .usedNonce }
    }

    /// Keeps the key of an exchange.
    func add(_ key: ShopSessionKey) {
        state.withLock { state in
            state.sessionKeys.append(key)
            state.log.keyExchanges += 1
        }
    }

    /// Returns the key with this ID.
    ///
    /// - Throws: ``ShopRefusal`` when there is none or when it has expired.
    func key(_ id: String) throws(ShopRefusal) -> ShopSessionKey {
        let key = state.withLock { state in
            state.sessionKeys.removeAll { $0.expiry <= .now }
            let key = state.sessionKeys.first { $0.id == id }
            if key == nil { state.log.keyRefusals += 1 }
            return key
        }
        guard let key else { throw .expiredKey }
        return key
    }

    /// Lets the key with this ID expire.
    func expireKey(_ id: String) {
        state.withLock { state in state.sessionKeys.removeAll { $0.id == id } }
    }

    /// Returns the number of pieces in an account's cart, by the numbers of the goods.
    func cart(_ account: String) -> [Int: Int] {
        state.withLock { $0.carts[account] ?? [:] }
    }

    /// Adds `count` pieces to the cart; a negative number removes some.
    ///
    /// - Throws: ``ShopRefusal`` when there would be more than `limit`.
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

/// The counts of the calls to the shop.
package struct ShopLog: Sendable, Codable, Equatable {
    /// The number of successful sign-ins.
    package var logins = 0
    /// The number of sign-outs.
    package var logouts = 0
    /// The number of calls that were refused because they had no live session, as 401 or in an envelope.
    package var refused = 0
    /// The number of session keys that were exchanged.
    package var keyExchanges = 0
    /// The number of sealed calls that were refused because their key is unknown or has expired.
    package var keyRefusals = 0
    /// The number of calls by path.
    package var hits: [String: Int] = [:]
}

/// How the shop responds to a call whose session has expired.
package enum SessionExpiryStyle: String, Sendable {
    /// HTTP status 401.
    case http
    /// HTTP status 200 and `errcode` 11010.
    case envelope
}

/// One session, identified by a cookie or a token.
struct ShopSession: Sendable {
    let id = randomName()
    let token = randomName()
    let account: String
    /// The number of calls until the session expires; `nil` is unlimited.
    var callsLeft: Int?
    /// How the shop responds after the session has expired.
    var style = SessionExpiryStyle.http
    /// The number of orders that were placed in the session; no other session includes them.
    var placedOrders = 0
    /// The number of pages of orders until one fails; `nil` is unlimited.
    var pagesLeft: Int?

    init(account: String) {
        self.account = account
    }
}

/// Returns a name that is not used twice and cannot be guessed.
func randomName() -> String {
    String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
}

/// The session's cookies and the token of a request.
struct ShopCredentials {
    private let ids: [String]
    private let token: String?

    init(_ request: RecordedRequest) {
        ids = request.cookies.filter { $0.name == "sid" }.map(\.value)
        token = request.header("X-Token")
    }

    /// Returns whether the credentials are those of `session`.
    func fit(_ session: ShopSession) -> Bool {
        ids.contains(session.id) || token == session.token
    }
}
