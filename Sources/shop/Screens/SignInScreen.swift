import Errand

/// The screen on which the customer signs in.
final class SignInScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var login = LoginRequest(delegate: self, paramSource: self, proxy: app.proxy)
    private let credentials: Credentials

    init(_ app: App, credentials: Credentials) {
        self.credentials = credentials
        super.init(app)
    }

    func submit() { login.loadData(indicator: self, message: "Signing in…") }

    func params(for request: BaseAPIRequest) -> APIParams? { APIParams(credentials) }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        guard let response = login.response else { return }
        app.account.signedIn(response, with: credentials)
        var table = Table(.left("Account"), .left("Nickname"))
        table.add(credentials.account, response.nickname)
        show(table)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }
}

extension SignInScreen: LoadingIndicator {
    func showLoading(_ message: String?) { app.terminal.draw("   \(message ?? "")") }

    func hideLoading() { app.terminal.erase() }
}
