import Foundation
import Synchronization

/// One call of ``APIProxy/send(_:progress:)`` or ``APIProxy/send(_:to:progress:)``, from its ID to its ending.
struct PlainCall: Sendable {
    private let id = RequestID.next()
    private let request: HTTPRequest
    /// The service that completes the request; `nil` for none.
    private let service: APIService?
    private let proxy: APIProxy
    /// The texts of its errors.
    private let messages: ErrorMessages?

    init(_ request: HTTPRequest, service: APIService?, proxy: APIProxy) {
        self.request = request
        var service = service?.forNewLoad
        service?.setLoginOwner(sentBy: proxy)
        self.service = service
        self.proxy = proxy
        messages = (self.service ?? proxy.defaultService)?.errorMessages
    }

    private var context: LoadContext { proxy.context }

    /// Sends the request and returns its answer, unless the task is cancelled.
    func answer(progress: TransferProgress.Handler?) async throws(APIError) -> APIResponse {
        guard !Task.isCancelled else { throw APIError(.cancelled) }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                start(progress: progress) { continuation.resume(returning: $0) }
                // Cancelled before it was in the table: the handler found nothing.
                if Task.isCancelled { proxy.cancelRequest(id) }
            }
        } onCancel: {
            proxy.cancelRequest(id)
        }
        return try result.get()
    }

    /// The role of a call that begins now.
    private var role: LoginRole {
        let isInRelogin = service.map { ReloginScope.covers($0.login) } ?? ReloginScope.isOpen
        return isInRelogin ? .partOfRelogin : .none
    }

    /// Sends the request, and calls `ended` once, on any thread.
    private func start(
        progress: TransferProgress.Handler?,
        ended: @escaping @Sendable (Result<APIResponse, APIError>) -> Void
    ) {
        let (method, path) = (request.method, request.url.absoluteString)
        let trace = context.monitors.trace(of: id, method: method, path: path, for: service)
        let ended = { @Sendable (result: Result<APIResponse, APIError>) in
            let result = result.mapError {
                $0.ended(method, path: request.url.path(percentEncoded: true), messages: messages)
            }
            trace?.end(result.ending, response: (try? result.get()) ?? result.error?.response)
            context.endings.publish {
                EndedRequest(id: id, requestClass: nil, method: method, path: path, ending: result.ending)
            }
            ended(result)
        }
        let role = self.role
        context.loads.insert(
            ActiveLoad(id: id, method: method, path: path, login: service?.login, loginRole: role) {
                switch $0 {
                case .cancelled: ended(.failure(APIError(.cancelled)))
                case .timedOut: end(with: .failure(Interruption.timeout), ended)
                }
            }
        )
        trace?.begin()
        // Read when the call is in the table, where a logout ends it; a later change of the account does not affect the call.
        let cookies = proxy.jar(for: service ?? proxy.defaultService)
        let lane = service?.queueLane(.normal) ?? QueueLane(host: request.url.queueHost, priority: .normal)
        context.start(id, in: role.isLoginRequest ? nil : lane, trace: trace) { slot in
            let call = AdmittedCall(cookies: cookies, slot: slot, progress: progress.map(whileActive), trace: trace)
            let result =
                if let service { await result(of: call, from: service, as: role) } else { await result(of: call) }
            end(with: result, ended)
        }
    }

    private func end(
        with result: Result<APIResponse, APIError>,
        _ ended: @Sendable (Result<APIResponse, APIError>) -> Void
    ) {
        guard let load = context.loads.claim(id) else { return }
        ended(load.file?.end(with: result) ?? result)
    }

    private func result(of call: AdmittedCall) async -> Result<APIResponse, APIError> {
        let slot = call.slot
        defer { slot.release() }
        if let deadline = request.deadline { context.startTimer(of: id, for: deadline) }
        do throws(APIError) {
            guard context.loads.contains(id) else { throw APIError(.cancelled) }
            try slot.send()
            let exchange = makeExchange(for: call)
            let answer = try await exchange.send(progress: call.progress)
            slot.didReceive(isMultiplexed: exchange.isMultiplexed, keepsPlace: false)
            return .success(
                call.trace?.numbered(answer) ?? answer.numbered(attempt: 1, queueTime: slot.queueTime)
            )
        } catch {
            return .failure(call.trace?.numbered(error) ?? error.numbered(attempt: 1, queueTime: slot.queueTime))
        }
    }

    private func makeExchange(for call: AdmittedCall) -> Exchange {
        call.trace?.didStart()
        call.trace?.beginTry()
        return Exchange(
            request,
            id: id,
            cookies: call.cookies,
            context: context,
            trace: call.trace?.makeExchangeTrace()
        )
    }

    /// Carries the call as a load whose value is the answer, whatever its status.
    private func result(
        of admitted: AdmittedCall,
        from service: APIService,
        as role: LoginRole
    ) async -> Result<APIResponse, APIError> {
        let preparation = Preparation()
        let call = APICall(
            id: id,
            service: service.forPlainCall(as: role, preparation),
            cookies: admitted.cookies,
            draft: RequestDraft(request),
            serializer: ResponseSerializer { response, _ in response },
            options: LoadOptions(
                priority: .normal,
                loginRole: role,
                coalescesIdentical: false,
                extras: LoadOptions.Extras(deadline: request.deadline, trace: admitted.trace)
            ),
            progress: admitted.progress
        )
        context.begin(call)
        // Done when the call is in the table, where a logout ends it.
        if call.renewsLogin { await service.login.readRenewalDate(for: service) }
        return await context.result(of: call, admitted.slot).map(\.value).flatMapError { error in
            guard error.type == .http, let response = error.response, !preparation.isUnfinished else {
                return .failure(error)
            }
            return .success(response)
        }
    }

    private func whileActive(_ report: @escaping TransferProgress.Handler) -> TransferProgress.Handler {
        { progress in
            if context.loads.contains(id) { report(progress) }
        }
    }
}

/// What a call has when it has its first place in the queue.
private struct AdmittedCall: Sendable {
    let cookies: CookieJar
    let slot: QueueSlot
    let progress: TransferProgress.Handler?
    let trace: LoadTrace?
}

/// Whether closures and adapters of the service have returned, whose errors may have the answer of another request.
private final class Preparation: Sendable {
    private let state = Atomic(false)

    /// Whether the last ones of them have not returned, or have thrown an error.
    var isUnfinished: Bool { state.load(ordering: .acquiring) }

    func begin() { state.store(true, ordering: .releasing) }

    func end() { state.store(false, ordering: .releasing) }
}

extension APIService {
    /// This service without parameters and what reads bodies, and for a call inside a relogin without a login that can expire.
    fileprivate func forPlainCall(as role: LoginRole, _ preparation: Preparation) -> APIService {
        var service = self
        (service.commonParams, service.envelope, service.failureReader) = (nil, nil, nil)
        service.adapters = adapters.forPlainCall(preparation)
        if role.isLoginRequest { (service.loginExpiredStatuses, service.isLoginExpired) = ([], nil) }
        if let commonHeaders {
            service.commonHeaders = {
                preparation.begin()
                let headers = try await commonHeaders()
                preparation.end()
                return headers
            }
        }
        return service
    }
}

extension AdapterLists {
    /// Those of requests and answers.
    fileprivate func forPlainCall(_ preparation: Preparation) -> AdapterLists {
        var lists = AdapterLists()
        if !request.isEmpty {
            lists.request = [.adapting { _, _ in preparation.begin() }] + request
            lists.request.append(.adapting { _, _ in preparation.end() })
        }
        if !response.isEmpty {
            lists.response = [.adapting { _, _ in preparation.begin() }] + response
            lists.response.append(.adapting { _, _ in preparation.end() })
        }
        return lists
    }
}
