import Errand
import Foundation

/// The screen on which the customer signs in.
final class SignInScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var login = LoginRequest(delegate: self, paramSource: self, proxy: app.proxy)
    private let credentials: Credentials

    init(_ app: App, credentials: Credentials) {
        self.credentials = credentials
        super.init(app)
    }

    func submit() { login.loadData(indicator: self, message: "Signing in…") }

    func params(for request: BaseAPIRequest) -> APIParams? { APIParams(encoding: credentials) }

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

/// The profile of the signed-in customer.
final class ProfileScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var request = ProfileRequest(delegate: self, paramSource: self, proxy: app.proxy)

    var profile: Profile? { request.response }

    func appear() { request.loadData() }

    func params(for request: BaseAPIRequest) -> APIParams? { nil }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        var table = Table(.left("Account"), .left("Nickname"))
        if let profile { table.add(profile.account, profile.nickname) }
        show(table)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }
}

/// The screen on which the customer uploads an avatar.
final class AvatarScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var upload = AvatarRequest(delegate: self, paramSource: self, proxy: app.proxy)
    private lazy var bar = ProgressBar(app.terminal, unit: "bytes")
    private let picture: URL

    private(set) var progress: [TransferProgress] = []
    var stored: StoredPicture? { upload.response }

    init(_ app: App, picture: URL) {
        self.picture = picture
        super.init(app)
    }

    func submit() { upload.loadData() }

    func params(for request: BaseAPIRequest) -> APIParams? { nil }

    func appendParts(to form: inout MultipartForm, for request: BaseAPIRequest) {
        form.append(file: picture, name: "avatar", contentType: "image/bmp")
    }

    func managerCallAPI(_ request: BaseAPIRequest, didMake progress: TransferProgress) {
        guard progress.direction == .upload else { return }
        self.progress.append(progress)
        bar.show(progress)
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        bar.finish(progress.last)
        var table = Table(.left("Picture"), .right("Bytes"), .left("SHA-256"))
        if let stored { table.add(stored.filename, "\(stored.bytes)", stored.sha256) }
        show(table)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }
}

/// The screen on which the customer signs out.
final class SignOutScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var logout = LogoutRequest(delegate: self, paramSource: self, proxy: app.proxy)

    func submit() { logout.loadData() }

    func params(for request: BaseAPIRequest) -> APIParams? { nil }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        app.account.signedOut()
        app.proxy.cookies.removeAll()
        show("Signed out.")
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }
}
