import Errand
import Foundation

extension APIService {
    /// The shop's API: its base URL, the headers of every request and the relogin handler.
    static func shop(at baseURL: URL, account: Account) -> APIService {
        var service = APIService(baseURL: baseURL)
        service.timeout = .seconds(20)
        service.commonHeaders = { account.headers }
        service.reloginHandler = account
        service.errorMessages = ErrorMessages(byType: [.timeout: "网络太慢，请稍后再试", .loginExpired: "请先登录"])
        return service
    }
}
