import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A load that is cancelled in a hook", .hangLimit, .timeLimit(.minutes(10)))
struct HookCancelTests {
    /// The hooks of a load, in the order in which they are called.
    enum Hook: CaseIterable, Sendable {
        case params, reformParams, headers, requestSerializer, timeout, idempotencyKey, appendParts
        case responseSerializer, destination, shouldLoad, loginRenewalDate, acceptsParams

        func isAfter(_ other: Hook) -> Bool {
            let hooks = Self.allCases
            return hooks.firstIndex(of: self) ?? 0 > hooks.firstIndex(of: other) ?? 0
        }
    }

    @Test(.fault(74), arguments: Hook.allCases)
    func `The interceptor and the validator are not asked after the cancel, nor the service, and nothing is sent`(
        _ hook: Hook
    ) async {
        let (transport, asked) = (ScriptedTransport(), Counter())
        let account = HookedAccount()
        let service = APIService.sample {
            $0.commonHeaders = {
                _ = asked.next()
                return [:]
            }
            $0.reloginHandler = account
        }
        // The next load has its turn when the work of this one is over.
        let proxy = APIProxy(service: service, transport: transport, queueLimits: QueueLimits(total: 1))
        let (screen, interceptor, validator) = (Screen(), InterceptorSpy(), ValidatorSpy())
        let request = HookedLoadRequest(delegate: screen, paramSource: screen, proxy: proxy)
        (request.interceptor, request.validator) = (interceptor, validator)
        var called: [Hook] = []
        request.onHook = { [unowned request] current in
            called.append(current)
            if current == hook { request.cancelAllRequests() }
        }
        screen.onParams = { [unowned request] _ in request.onHook(.params) }
        request.reform = { [unowned request] params in
            request.onHook(.reformParams)
            return params
        }
        interceptor.onCall = { [unowned request] _, call in if call == .shouldLoad { request.onHook(.shouldLoad) } }
        account.onRenewalDate = { [unowned request] in request.onHook(.loginRenewalDate) }
        validator.acceptsParams = { [unowned request] _ in
            request.onHook(.acceptsParams)
            return true
        }
        request.loadData()
        #expect(called.contains(hook))
        #expect(!called.contains { $0.isAfter(hook) && [.shouldLoad, .acceptsParams].contains($0) })
        #expect(await screen.ending() == .cancelled)
        let next = GoodsRequest(delegate: screen, proxy: proxy)
        next.path = "/next"
        next.loadData()
        #expect(await screen.ending() == .success)
        #expect(asked.count == 1, "the closures of the service are called for the next load alone")
        #expect(transport.requests.map(\.url.lastPathComponent) == ["next"])
        #expect(screen.events == [.cancelled, .success])
        #expect(interceptor.calls.suffix(2) == [.willEnd("cancelled"), .didEnd("cancelled")])
    }
}

/// Calls a closure in each of its hooks.
@MainActor private final class HookedLoadRequest: SampleRequest, APIManager {
    typealias Response = [Goods]
    var onHook: @MainActor (HookCancelTests.Hook) -> Void = { _ in }

    private func call<Value>(_ hook: HookCancelTests.Hook, _ value: Value) -> Value {
        onHook(hook)
        return value
    }

    override var headers: HTTPHeaders { call(.headers, super.headers) }
    override var requestSerializer: RequestSerializer { call(.requestSerializer, super.requestSerializer) }
    override var timeout: Duration? { call(.timeout, super.timeout) }
    override var options: APIRequestOptions {
        APIRequestOptions(idempotencyKey: { [unowned self] in call(.idempotencyKey, nil) })
    }
    override func appendParts(to form: inout MultipartForm) { onHook(.appendParts) }
    var responseSerializer: ResponseSerializer<[Goods]> { call(.responseSerializer, .automatic) }
    override var destination: HTTPRequest.Destination { call(.destination, super.destination) }
}

/// Calls a closure when its renewal date is read.
@MainActor private final class HookedAccount: ReloginHandler {
    var onRenewalDate: (@MainActor () -> Void)?

    var loginRenewalDate: Date? {
        onRenewalDate?()
        return nil
    }

    func relogin() async throws {}
    func sessionDidExpire(_ error: APIError) {}
}
