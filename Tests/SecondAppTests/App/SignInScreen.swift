import Errand

/// Signs in with a session cookie.
@MainActor final class SignInScreen: APIManagerParamSource, APIManagerCallbackDelegate {
    var name = ""
    var password = ""
    private(set) var greeting = ""
    private(set) var alert: String?
    private(set) lazy var session = APIRequest<User>("/session/", delegate: self)
    private(set) lazy var signIn = SignInRequest(delegate: self, paramSource: self)
    private(set) lazy var signOut = APIRequest<Void>("/session/", method: .delete, delegate: self)

    func appear() { session.loadData() }
    func signInButtonTapped() { signIn.loadData() }
    func signOutButtonTapped() { signOut.loadData() }

    func params(for request: BaseAPIRequest) -> APIParams? {
        request == signIn ? ["username": name, "password": password] : nil
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        alert = nil
        switch request {
        case signIn: greet(signIn.response)
        case session: greet(session.response)
        default: greet(nil)
        }
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        alert = error.message
    }

    private func greet(_ user: User?) {
        greeting = user.map { $0.username.isEmpty ? "Please sign in." : "Hello, \($0.username)!" } ?? "Goodbye."
    }
}
