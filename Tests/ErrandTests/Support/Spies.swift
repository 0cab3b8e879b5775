@testable import Errand

/// Counts the calls of show and hide.
@MainActor final class IndicatorSpy: LoadingIndicator {
    private(set) var shown: [String?] = []
    private(set) var hides = 0
    var isBalanced: Bool { shown.count == hides }

    func showLoading(_ message: String?) { shown.append(message) }
    func hideLoading() { hides += 1 }
}

/// Records the errors that it presents, with their requests.
@MainActor final class PresenterSpy: ErrorPresenter {
    private(set) var calls: [(error: APIError, request: BaseAPIRequest)] = []
    var types: [APIErrorType] { calls.map(\.error.type) }
    var onCall: (@MainActor (APIError, BaseAPIRequest) -> Void)?

    func presentError(_ error: APIError, of request: BaseAPIRequest) {
        MainActor.assertIsolated()
        calls.append((error, request))
        onCall?(error, request)
    }
}

/// Records its calls, and calls a closure of the test in each of them.
@MainActor final class InterceptorSpy: APIManagerInterceptor {
    enum Call: Equatable {
        case shouldLoad, didReceive(Int), willEnd(String), didEnd(String)
    }

    private(set) var calls: [Call] = []
    var allowsLoad = true
    var onCall: (@MainActor (BaseAPIRequest, Call) -> Void)?

    func request(_ request: BaseAPIRequest, shouldLoad params: APIParams?) -> Bool {
        record(.shouldLoad, request)
        return allowsLoad
    }

    func request(_ request: BaseAPIRequest, didReceive response: APIResponse) {
        record(.didReceive(response.status), request)
    }

    func request(_ request: BaseAPIRequest, willEnd ending: APIEnding) {
        record(.willEnd(ending.name), request)
    }

    func request(_ request: BaseAPIRequest, didEnd ending: APIEnding) {
        record(.didEnd(ending.name), request)
    }

    private func record(_ call: Call, _ request: BaseAPIRequest) {
        calls.append(call)
        onCall?(request, call)
    }
}

extension APIEnding {
    fileprivate var name: String {
        switch self {
        case .success: "success"
        case .failure(let error): error.type.rawValue
        case .cancelled: "cancelled"
        }
    }
}

/// Accepts or refuses as the test specifies.
@MainActor final class ValidatorSpy: APIManagerValidator {
    var acceptsParams: @MainActor (BaseAPIRequest) -> Bool = { _ in true }
    var acceptsContent: @MainActor (BaseAPIRequest) -> Bool = { _ in true }

    func request(_ request: BaseAPIRequest, accepts params: APIParams?) -> Bool { acceptsParams(request) }
    func request(_ request: BaseAPIRequest, accepts content: any Sendable, in response: APIResponse) -> Bool {
        acceptsContent(request)
    }
}

/// An object that calls a function when it is released, as an object of an app might.
nonisolated final class DeinitObserver: Encodable, ReloginHandler {
    private let question: @Sendable () -> Void

    init(_ question: @escaping @Sendable () -> Void) {
        self.question = question
    }

    deinit { question() }

    func relogin() async throws {}
    func encode(to encoder: any Encoder) throws {}
}
