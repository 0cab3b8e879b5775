import Foundation

/// One load of one request, from its ID to its ending.
@MainActor final class Load<Manager: APIManager> {
    typealias Answer = APIAnswer<Manager.Response>

    let id: RequestID
    /// Delivers the events of the load; `nil` without monitors.
    let trace: LoadTrace?
    let params: LoadParams
    private let method: HTTPMethod
    private let path: String
    private let messages: ErrorMessages?
    // Loads that its callbacks begin are part of the same relogin.
    private let scope = ReloginScope.current
    private let proxy: APIProxy
    private let indicator: (any LoadingIndicator)?
    private weak var manager: Manager?
    /// Returns the call that requests the page of a list again within this load; `nil` for a load without a page.
    var callForPage: ((RequestDraft.Addition) -> APICall<Manager.Response>)?
    /// A file that the library has named, and that the app cannot find once the request is released.
    var temporaryFile: URL?
    /// Receives the progress; `nil` for none.
    var progress: (@MainActor (TransferProgress) -> Void)?
    let loginRole: LoginRole
    var notifiesDelegateOfProgress = false
    var presentsErrors = true

    init(
        of manager: Manager,
        draft: RequestDraft,
        params: LoadParams,
        service: APIService?,
        role: LoginRole,
        indicator: (any LoadingIndicator)?
    ) {
        id = .next()
        let monitors = manager.proxy.monitorList
        trace = monitors.trace(of: id, method: draft.method, path: draft.path, for: service)
        self.manager = manager
        self.params = params
        loginRole = role
        (method, path, messages) = (draft.method, draft.path, service?.errorMessages)
        proxy = manager.proxy
        self.indicator = indicator
    }

    /// Returns the entry of this load in the proxy's table.
    func activeLoad(releasePolicy: ReleasePolicy, login: LoginSession?) -> ActiveLoad {
        ActiveLoad(
            id: id,
            method: method,
            path: path,
            endsWithOwner: releasePolicy == .cancel,
            login: login,
            loginRole: loginRole
        ) { [proxy] interruption in
            switch interruption {
            case .cancelled(let isMistake):
                self.trace?.didCancel(isMistake: isMistake)
                proxy.deliver { self.inScope { self.wasCancelled() } }
            case .timedOut: proxy.deliver { self.inScope { self.timedOut() } }
            }
        }
    }

    /// Sends the call and ends the load with its result.
    func run(_ call: APICall<Manager.Response>) {
        proxy.send(call) { result in self.inScope { self.didFinish(result) } }
    }

    /// Ends the load without having sent it; like every ending, later.
    func fail(_ error: APIError) {
        proxy.deliver { self.inScope { self.didFinish(.failure(error)) } }
    }

    /// Delivers progress from the transport's thread on the main actor; `nil` when no receiver is there.
    var progressHandler: TransferProgress.Handler? {
        guard notifiesDelegateOfProgress || progress != nil else { return nil }
        return { [proxy, id] progress in
            proxy.delivery.deliver(progress, of: id) { progress in
                guard proxy.isActive(id) else { return }
                self.inScope { self.didMake(progress) }
            }
        }
    }

    private func inScope(_ callback: () -> Void) {
        ReloginScope.run(in: scope, callback)
    }

    private func didMake(_ progress: TransferProgress) {
        guard let manager else { return }
        if manager.loads.last == id { manager.progress = progress }
        self.progress?(progress)
        guard notifiesDelegateOfProgress, proxy.isActive(id) else { return }
        manager.delegate?.managerCallAPI(manager, didMake: progress)
    }

    private func didFinish(_ result: Result<Answer, APIError>) {
        var result = result
        guard proxy.isActive(id), !repeatsPage(insteadOf: &result) else { return }
        var response = (try? result.get().response) ?? result.error?.response
        result = result.mapError(ended)
        var outcome = manager?.outcome(of: result, for: id) ?? result.map { $0.value as any Sendable }
        // The validator or reformData may have edited the list.
        if repeatsPage(insteadOf: &outcome) { return }
        outcome = outcome.mapError(ended)
        if let manager { manager.interceptor?.request(manager, willEnd: outcome.ending) }
        // The interceptor, the validator and reformData may have cancelled the load: then that is its ending.
        guard let load = proxy.loads.claim(id) else { return }
        if let file = load.file {
            outcome = file.end(with: outcome).mapError(ended)
            if outcome.error != nil { response = response?.withoutFile }
        }
        if loginRole == .signIn, outcome.error == nil, response?.isSuccess == true { load.login?.didSignIn() }
        trace?.end(outcome.ending, response: response)
        publish(outcome.ending)
        guard let manager else {
            removeTemporaryFile()
            indicator?.hideLoading()
            return
        }
        end(manager, with: outcome, response: response)
    }

    /// Requests the page of a list again if edits have made its answer out of date.
    ///
    /// - Returns: Whether it does; the load has not ended then.
    private func repeatsPage<Value>(insteadOf result: inout Result<Value, APIError>) -> Bool {
        guard let callForPage, proxy.isActive(id), let pager = manager?.pager else { return false }
        do throws(APIError) {
            guard let addition = try pager.additionToRepeat(id, after: result.error) else { return false }
            run(callForPage(addition))
            return true
        } catch {
            result = .failure(error)
            return false
        }
    }

    private func removeTemporaryFile() {
        if let temporaryFile { unlink(temporaryFile.path) }
    }

    private func wasCancelled() {
        if let manager { manager.interceptor?.request(manager, willEnd: .cancelled) }
        publish(.cancelled)
        guard let manager else {
            indicator?.hideLoading()
            return
        }
        end(manager, with: .failure(ended(APIError(.cancelled))), response: nil)
    }

    private func timedOut() {
        callForPage = nil
        // The page may have been requested again since the deadline passed.
        if let load = proxy.loads[id] { proxy.stopWork(of: load) }
        didFinish(.failure(Interruption.timeout))
    }

    private func ended(_ error: APIError) -> APIError { error.ended(method, path: path, messages: messages) }

    /// Passes the ending to the readers of ``APIProxy/endings``.
    private func publish(_ ending: APIEnding) {
        // The call refers to this load, by its progress.
        callForPage = nil
        proxy.endingPublisher.publish {
            EndedRequest(id: id, requestClass: Manager.self, method: method, path: path, ending: ending)
        }
    }

    /// Records the ending before any callback, each of which may begin or cancel loads of the request.
    private func end(_ manager: Manager, with outcome: Result<any Sendable, APIError>, response: APIResponse?) {
        let notifyObserver = manager.record(outcome, of: id, response: response)
        let isReceived = manager.newestSuccess == id || manager.waiters.contains { $0.id == id }
        // A delegate finds only the newest answer.
        if outcome.error == nil, !isReceived { removeTemporaryFile() }
        let receiver = manager.takeReceiver(of: id)
        if let part = manager.pager?.followUp {
            let followUp = manager.begin(loading: part, params: nil, receiver: receiver.ofFollowUp)
            // The caller has its answer: one that joins the load is the first who wants it.
            if case .caller = receiver.ofFollowUp { proxy.loads.disown(followUp) }
            // Nothing but a closure may retain the request.
            if case .closure = receiver { manager.wait(for: followUp) { _ in } }
        }
        indicator?.hideLoading()
        notifyObserver?()
        notify(receiver, of: manager, with: outcome)
    }

    private func notify(_ receiver: EndingReceiver, of manager: Manager, with outcome: Result<any Sendable, APIError>) {
        let (waiters, ending) = (manager.takeWaiters(of: id), outcome.ending)
        if presentsErrors, case .failure(let error) = ending { manager.present(error, to: receiver) }
        if case .delegate = receiver { manager.notifyDelegate(ending) }
        for waiter in waiters { waiter.ended(outcome) }
        manager.interceptor?.request(manager, didEnd: ending)
    }
}
