import ErrandTesting
import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A closure of the service decides whether a login has expired", .timeLimit(.minutes(10)))
struct LoginDecisionTests {
    /// What a server refuses a token with.
    enum Refusal: CaseIterable {
        case status, otherStatus, acceptedStatus, code, reader

        var response: HTTPResponse {
            switch self {
            case .status, .acceptedStatus: .json(#"{"errcode":7,"msg":"no"}"#, status: 401)
            case .otherStatus: .json(#"{"errcode":7,"msg":"no"}"#, status: 403)
            case .code: .json(#"{"errcode":7,"msg":"no"}"#)
            case .reader: .json(#"{"errcode":7,"msg":"no"}"#, status: 440)
            }
        }

        /// Whether it is an expired login without the closure.
        var isExpiry: Bool { self == .status || self == .reader }

        /// How the load ends if it is none.
        var type: APIErrorType? { self == .acceptedStatus ? nil : self == .code ? .server : .http }
    }

    private let account = Account()

    private func proxy(
        _ refusal: HTTPResponse,
        _ decide: @escaping @Sendable (APIResponse) -> Bool?
    ) -> (APIProxy, ScriptedTransport) {
        let transport = ScriptedTransport { $0.headers["X-Token"] == "t1" ? .json(goodsJSON([])) : refusal }
        let service = APIService.sample { [account] in
            $0.reloginHandler = account
            $0.commonHeaders = { ["X-Token": account.token] }
            $0.failureReader = FailureReader { $0.status == 440 ? ServerFailure(code: 7, type: .loginExpired) : nil }
            $0.isLoginExpired = decide
        }
        return (APIProxy(fake: transport, service: service), transport)
    }

    private func request(_ refusal: Refusal, _ proxy: APIProxy) -> MaybeGoods {
        let request = MaybeGoods(proxy: proxy)
        if refusal == .acceptedStatus { request.ownOptions.acceptedStatuses = [401] }
        return request
    }

    @Test(arguments: Refusal.allCases, [true, false, nil] as [Bool?])
    func `It decides about every refusal, with status, code and body`(_ refusal: Refusal, _ decision: Bool?) async {
        let seen = Lock<[String]>([])
        let (proxy, transport) = proxy(refusal.response) { response in
            seen.withLock {
                $0.append("\(response.status) \(response.serverCode?.text ?? "-") \(response.body.count)")
            }
            return decision
        }
        let request = request(refusal, proxy)
        let isExpired = decision ?? refusal.isExpiry
        let type: APIErrorType?
        do throws(APIError) {
            _ = try await request.value()
            type = nil
        } catch {
            type = error.type
        }
        #expect(type == (isExpired ? nil : refusal.type))
        #expect(account.logins == (isExpired ? 1 : 0) && account.expiries == 0)
        #expect(transport.requests.count == (isExpired ? 2 : 1))
        // Not for the success after the relogin.
        #expect(seen.withLock(\.self) == ["\(refusal.response.status) 7 \(refusal.response.body.count)"])
    }

    @Test func `A POST whose password has to be repeated is sent once, and the good token stays`() async {
        let refusal = HTTPResponse.json(#"{"errcode":"PASSWORD_REQUIRED","msg":"again"}"#, status: 401)
        let (proxy, transport) = proxy(refusal) { $0.serverCode == "PASSWORD_REQUIRED" ? false : nil }
        let request = GoodsRequest(proxy: proxy)
        #expect(await request.outcome() == .http)
        #expect(request.error?.code == "PASSWORD_REQUIRED" && request.error?.status == 401)
        #expect(transport.requests.count == 1 && account.logins == 0 && account.token == "t0")
    }

    @Test func `It is not called for a login request`() async {
        let (proxy, _) = proxy(.status(401)) { _ in
            Issue.record("called")
            return true
        }
        let request = GoodsRequest(proxy: proxy)
        request.customLogin = true
        #expect(await request.outcome() == .http)
        #expect(account.logins == 0)
    }

    @Test(arguments: [true, false, nil] as [Bool?])
    func `A plain call is sent again as it decides`(_ decision: Bool?) async throws {
        let (proxy, transport) = proxy(.status(401)) { _ in decision }
        let service = try #require(proxy.defaultService)
        let response = try await proxy.send(HTTPRequest(.get, URL("/ping")), to: service)
        #expect(response.status == (decision == false ? 401 : 200))
        #expect(transport.requests.count == (decision == false ? 1 : 2))
    }

    @Test(arguments: ["{}", "<html>sign in</html>"])
    func `It is called once for an accepted status whose body is in a file`(_ body: String) async throws {
        let calls = Lock(0)
        let (proxy, _) = proxy(HTTPResponse(status: 401, body: Data(body.utf8))) { response in
            calls.withLock { $0 += 1 }
            return response.status == 401
        }
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "a")
        let options = APIRequestOptions(acceptedStatuses: [401])
        let request = APIRequest<DownloadedFile>("/a", destination: .file(file), options: options, proxy: proxy)
        _ = try await request.value()
        #expect(try String(contentsOf: file, encoding: .utf8) == goodsJSON([]))
        #expect(calls.withLock(\.self) == 1 && account.logins == 1)
    }
}

private final class MaybeGoods: SampleRequest, APIManager {
    typealias Response = [Goods]?
}
