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

/// Every kind of adapter.
enum AdapterKind: String, CaseIterable, Sendable {
    case params, request, response, data

    /// Whether it changes what is sent.
    var isOutward: Bool { [.params, .request].contains(self) }
}

/// Records the calls of adapters.
final class AdapterJournal: Sendable {
    struct Call: Sendable {
        let name: String
        let kind: AdapterKind?
        let context: AdapterContext?
        let environment: APIEnvironment?
    }

    private let all = Lock<[Call]>([])

    var calls: [Call] { all.withLock { $0 } }
    var names: [String] { calls.map(\.name) }

    func contexts(of kind: AdapterKind) -> [AdapterContext] { calls.filter { $0.kind == kind }.compactMap(\.context) }

    func note(_ name: String, _ kind: AdapterKind? = nil, _ context: AdapterContext? = nil) {
        let call = Call(name: name, kind: kind, context: context, environment: .current)
        all.withLock { $0.append(call) }
    }

    /// Returns an adapter of each kind that records its calls.
    func adapters(_ name: String) -> Adapters {
        Adapters { kind, context in self.note("\(kind) \(name)", kind, context) }
    }
}

extension Adapters {
    /// Creates one adapter of each of `kinds` that calls `adapt` and changes nothing.
    init(
        _ kinds: [AdapterKind] = AdapterKind.allCases,
        adapt: @escaping @Sendable (AdapterKind, AdapterContext) async throws -> Void
    ) {
        self.init()
        if kinds.contains(.params) { params = [Adapter { try await adapt(.params, $1) }] }
        if kinds.contains(.request) { request = [Adapter { try await adapt(.request, $1) }] }
        if kinds.contains(.response) { response = [Adapter { try await adapt(.response, $1) }] }
        if kinds.contains(.data) { data = [Adapter { try await adapt(.data, $1) }] }
    }
}
