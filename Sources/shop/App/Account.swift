import Errand
import Synchronization

/// The customer's account: keeps the token, and signs in again when the session has expired.
@MainActor final class Account: ReloginHandler, APIManagerParamSource {
    // The headers are read on any thread.
    nonisolated private let token = Mutex<String?>(nil)
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

    func params(for request: BaseAPIRequest) -> APIParams? { credentials.map { APIParams($0) } }
}

/// The error of a relogin without credentials.
struct NotSignedIn: Error {}
