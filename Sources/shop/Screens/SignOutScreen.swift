import Errand

/// The screen on which the customer signs out.
final class SignOutScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var logout = LogoutRequest(delegate: self, paramSource: self, proxy: app.proxy)

    func submit() { logout.loadData() }

    func params(for request: BaseAPIRequest) -> APIParams? { nil }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        app.account.signedOut()
        app.proxy.cookies.clear()
        show("Signed out.")
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }
}
