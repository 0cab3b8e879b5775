import Errand
import Synchronization

/// Who is signed in: keeps the token, and signs in again when the server has let the session expire.
@MainActor final class Account: ReloginHandler, APIManagerParamSource {
    // Sends ask for the headers on any thread.
    nonisolated private let token = Mutex<String?>(nil)
    private unowned let proxy: APIProxy
    private var credentials: Credentials?
    /// How often a session ended that could not be renewed.
    private(set) var expiredSessions = 0

    /// Creates an account that nobody has signed in to; `proxy` is not retained.
    init(proxy: APIProxy) {
        self.proxy = proxy
    }

    /// What every request carries.
    nonisolated var headers: HTTPHeaders {
        guard let token = token.withLock(\.self) else { return [:] }
        return ["X-Token": token]
    }

    /// Remembers who has signed in.
    func signedIn(_ answer: SignedIn, with credentials: Credentials) {
        self.credentials = credentials
        token.withLock { $0 = answer.token }
    }

    /// Forgets whoever was signed in.
    func signedOut() {
        credentials = nil
        token.withLock { $0 = nil }
    }

    func relogin() async throws {
        guard let credentials else { throw NotSignedIn() }
        let answer = try await LoginRequest(paramSource: self, proxy: proxy).value()
        // Whoever has signed out meanwhile stays signed out.
        guard self.credentials != nil else { throw NotSignedIn() }
        signedIn(answer, with: credentials)
    }

    func sessionDidExpire(_ error: APIError) {
        expiredSessions += 1
    }

    func params(for request: BaseAPIRequest) -> APIParams? { credentials.map { APIParams($0) } }
}

/// Nobody has signed in, so nobody can be signed in again.
struct NotSignedIn: Error {}
