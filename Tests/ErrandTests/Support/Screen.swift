import Foundation

@testable import Errand

/// A screen of the tests: delegate and param source in one, whose endings can be awaited.
@MainActor final class Screen: APIManagerParamSource, APIManagerCallbackDelegate {
    enum Event: Equatable, Sendable {
        case success
        case failure(APIErrorType)
        case cancel
    }

    var params: APIParams?
    var onEvent: (@MainActor (BaseAPIRequest, Event) -> Void)?
    var onParams: (@MainActor (BaseAPIRequest) -> Void)?
    var parts: (@MainActor (inout MultipartForm) -> Void)?
    private(set) var events: [Event] = []
    private(set) var errors: [APIError] = []
    private(set) var progress: [TransferProgress] = []
    private let stream: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation

    init(params: APIParams? = nil) {
        self.params = params
        (stream, continuation) = AsyncStream.makeStream()
    }

    /// The next ending that nobody has asked for yet.
    func ending() async -> Event {
        for await event in stream { return event }
        preconditionFailure("The screen's stream of events never finishes")
    }

    /// The next `count` endings.
    func endings(_ count: Int) async -> [Event] {
        var endings: [Event] = []
        for _ in 0..<count { endings.append(await ending()) }
        return endings
    }

    func params(for request: BaseAPIRequest) -> APIParams? {
        MainActor.assertIsolated()
        onParams?(request)
        return params
    }

    func appendParts(to form: inout MultipartForm, for request: BaseAPIRequest) {
        parts?(&form)
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        record(.success, request)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        errors.append(error)
        record(.failure(error.type), request)
    }

    func managerCallAPIDidCancel(_ request: BaseAPIRequest) {
        record(.cancel, request)
    }

    func managerCallAPI(_ request: BaseAPIRequest, didMake progress: TransferProgress) {
        self.progress.append(progress)
    }

    private func record(_ event: Event, _ request: BaseAPIRequest) {
        MainActor.assertIsolated()
        events.append(event)
        onEvent?(request, event)
        continuation.yield(event)
    }
}
