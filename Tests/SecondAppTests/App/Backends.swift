import Errand
import Foundation

/// The backends of the app.
enum Backend {
    /// The bookshop for a user who has signed in with a session cookie.
    static func web(_ server: URL) -> APIService {
        var service = bookshop(server)
        let cookies = CookieJar()
        service.cookies = cookies
        service.adapters.request = [
            Adapter { request, _ in
                guard request.method != .get else { return }
                let token = cookies.cookies(for: request.url).first { $0.name == "csrftoken" }
                request.headers["X-CSRFToken"] = token?.value
            }
        ]
        return service
    }

    /// The bookshop for a user who has a token.
    @MainActor static func device(_ server: URL, account: Account) -> APIService {
        var service = bookshop(server)
        service.commonHeaders = { [weak account] in ["Authorization": await account?.authorization] }
        service.reloginHandler = account
        return service
    }

    /// The coupons, which another team serves: `{"code":"E1001","success":false,"message":"…"}`.
    static func coupons(_ server: URL) -> APIService {
        var service = APIService(baseURL: server.appending(path: "legacy"))
        var envelope = Envelope()
        envelope.codeKey = "code"
        envelope.messageKey = "message"
        envelope.successKey = "success"
        envelope.successCodes = ["OK"]
        service.envelope = envelope
        service.errorMessages.byCode["E1000"] = "Please enter a coupon."
        return service
    }

    /// Responses without an envelope.
    static func tools(_ server: URL) -> APIService {
        var service = APIService(baseURL: server)
        service.envelope = nil
        return service
    }

    private static func bookshop(_ server: URL) -> APIService {
        var service = APIService(baseURL: server.appending(path: "api"))
        service.envelope = nil
        service.failureReader = .djangoREST
        return service
    }
}

/// The user of a device, who signs in with a stored password when a token has expired.
@MainActor final class Account: ReloginHandler {
    var password: String
    private(set) var loginCount = 0
    private(set) var notice: String?
    private let name: String
    private var token: String?

    init(name: String, password: String = "correct horse") {
        (self.name, self.password) = (name, password)
    }

    var authorization: String? { token.map { "Token \($0)" } }

    func relogin() async throws {
        token = try await TokenRequest().value(params: ["username": name, "password": password]).token
        loginCount += 1
    }

    func sessionDidExpire(_ error: APIError) { notice = "Please sign in." }
}
