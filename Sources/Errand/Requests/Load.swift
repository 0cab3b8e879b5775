import Foundation

extension APIManager {
    /// Begins a load; without `input`, it sends that of the list.
    func begin(
        loading part: ListPart = .first,
        input: LoadInput? = .paramSource,
        indicator: (any LoadingIndicator)? = nil,
        message: String? = nil,
        receiver: EndingReceiver = .delegate,
        isReload: Bool = false,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        ended: (@MainActor (Result<any Sendable, APIError>) -> Void)? = nil
    ) -> RequestID {
        // A hook that is read here may begin a load, which is then older than this one.
        let (policy, service) = (restartPolicy, serviceForNewLoad)
        let path = pager?.path(of: part, in: proxy.userSession(of: service)) ?? path
        let (draft, options) = (RequestDraft(method: method, path: path), options)
        let role = LoginRole(of: self, for: service)
        if let running = loadToJoin(policy, loading: part, as: role, in: proxy.userSession(of: service)) {
            if let indicator { SharedIndicators.show(indicator, message, of: running) }
            if let ended { wait(for: running, ended) }
            return join(running, receiver: receiver)
        }
        // What follows a reload is a part of it.
        if isReload || part == .first && input != nil { pager?.isReloading = isReload }
        let input = input ?? pager?.input(of: part) ?? .paramSource
        let load = Load(
            of: self,
            draft,
            to: service,
            role: role,
            observing: options,
            progress: progress
        )
        loads.append(load.id)
        // Before the hooks below, in which the load may end.
        if let ended { wait(for: load.id, ended) }
        if case .delegate = receiver {} else { receivers[load.id] = receiver }
        // From here on the load ends with its session, and a cancel in any of the hooks below ends it.
        proxy.loads.insert(load.activeLoad(with: options))
        // For the following loads of a list, the param source is called again.
        var listInput = input
        (listInput.sourceParams, listInput.path) = (nil, path)
        // Before the hooks below: a load that they begin in a list is newer than this one.
        let page = Result { () throws(APIError) in
            try pager?.loadWillBegin(load.id, of: part, input: listInput, from: service)
        }
        load.trace?.begin()
        removeProgress()
        if let indicator { SharedIndicators.show(indicator, message, of: load.id) }
        load.send { () throws(APIError) in try load.call(input, page, options, of: self) }
        return load.id
    }

    /// Cancels what a new load replaces; returns the running load that is to be joined instead.
    func loadToJoin(
        _ policy: RestartPolicy,
        loading part: ListPart = .first,
        as role: LoginRole,
        in session: @autoclosure () -> UserSession
    ) -> RequestID? {
        switch policy {
        case .ignoreNew:
            // The first page of a list replaces any other that is loading.
            if part == .first, case .begin? = pager?.decision(for: .first) { cancelAllRequests() }
            // A further page that is loading has been joined already; what else runs, does not load it.
            guard ![.next, .prefetch, .previous].contains(part) else { return nil }
            // Its response would be shown to another user, or in another environment.
            if let newest = loads.last, history.isElsewhere(newest, than: session()) { cancelAllRequests() }
            // One that sends nothing, whose ending is about to be delivered, is no load that runs.
            return loads.last { $0 != history.formerLoad && proxy.join($0, as: role) }
        case .cancelPrevious: cancelAllRequests()
        case .concurrent: break
        }
        return nil
    }
}

/// One load of one request, from its ID to its ending.
///
/// It does not retain the request, which may be released before the ending.
@MainActor final class Load<Manager: APIManager> {
    let id: RequestID
    let trace: LoadTrace?
    private let progress: (@MainActor (TransferProgress) -> Void)?
    private let presentsErrors: Bool
    private let notifiesDelegateOfProgress: Bool
    /// Its deadline has passed: that its work is cancelled is not its ending.
    private var isFallingBack = false
    /// Its file is being discarded: only a cancel replaces its ending.
    private var isEnding = false
    /// It ends with the response of an earlier load, which the hooks have had.
    private var isFormer = false
    /// For the texts of its errors.
    private let service: APIService?
    /// Of its beginning: the login of its response may be that, although another one has succeeded since.
    private let origin: LoadOrigin
    private let role: LoginRole
    private let scope = LoadScope()
    private let proxy: APIProxy
    private weak var manager: Manager?
    /// Returns the call that requests the page of a list again within this load.
    var callForPage: ((RequestDraft.Addition) -> Call<Manager.Response>)?
    /// The call whose stored response is used if the deadline passes; `nil` unless its cache policy is `fallback`.
    private var fallback: Call<Manager.Response>?
    /// A file that the library has named, and that the app cannot find once the request is released.
    private var temporaryFile: URL?

    init(
        of manager: Manager,
        _ draft: RequestDraft,
        to service: APIService?,
        role: LoginRole,
        observing options: APIRequestOptions?,
        progress: (@MainActor (TransferProgress) -> Void)? = nil
    ) {
        (id, proxy) = (.next(), manager.proxy)
        (self.manager, self.role, self.service) = (manager, role, service)
        origin = LoadOrigin(draft, service, proxy.jar(for: service))
        self.progress = progress
        presentsErrors = options?.presentsErrors == true
        notifiesDelegateOfProgress = options?.reportsProgress == true
        guard let options else {
            trace = nil
            return
        }
        let own = options.reportsActivity ? ActivityMonitor(of: id, for: manager) : nil
        trace = proxy.monitorList.withLock { $0 }
            .trace(of: id, method: draft.method, path: draft.path, for: service, and: own)
    }

    func activeLoad(with options: APIRequestOptions) -> ActiveLoad {
        ActiveLoad(
            id: id,
            method: origin.method,
            path: origin.path,
            endsWithOwner: options.releasePolicy == .cancel,
            priority: options.priority,
            login: service?.login,
            loginRole: role
        ) { [proxy, trace] interruption in
            switch interruption {
            case .cancelled(let isMistake):
                if isMistake { trace?.emit(.released) }
                trace?.end(.cancelled)
                proxy.deliver { self.scope.run { self.wasCancelled() } }
            case .timedOut: proxy.deliver { self.scope.run { self.timedOut() } }
            }
        }
    }

    /// They refer to this load, by their progress.
    func dropCalls() { (callForPage, fallback) = (nil, nil) }

    // MARK: Sending

    /// Sends what the hooks return; a load that they refuse ends later, like any other.
    func send(_ call: () throws(APIError) -> Call<Manager.Response>?) {
        do throws(APIError) {
            if let call = try call() { run(call) } else { proxy.cancelRequest(id) }
        } catch {
            proxy.deliver { self.scope.run { self.didFinish(.failure(error)) } }
        }
    }

    /// Returns `nil` when the interceptor refuses, and when the load has been cancelled in a hook.
    func call(
        _ input: LoadInput,
        _ page: Result<RequestDraft.Addition?, APIError>,
        _ options: APIRequestOptions,
        of manager: Manager
    ) throws(APIError) -> Call<Manager.Response>? {
        var input = input
        if !origin.method.isSafe {
            guard input.origin?.session.isOfSameAccount(as: origin.session) != false else {
                throw APIError(.invalidRequest, reason: "the load to send again was one of another session")
            }
            input.origin = origin
        }
        var draft = RequestDraft(method: origin.method, path: origin.path)
        draft.params = manager.reformParams(manager.params(from: input, of: id, origin))
        guard proxy.loads.contains(id) else { return nil }
        draft.headers = manager.headers
        draft.serializer = manager.requestSerializer
        draft.timeout = manager.timeout
        draft.redirectPolicy = options.redirectPolicy.map(Boxed.init)
        draft.allowsCellularAccess = options.allowsCellularAccess
        let key = input.key(in: origin.session) ?? options.idempotencyKey?()
        if key != nil || input.idempotencyKey != nil {
            manager.history.keep(of: id) { ($0.idempotencyKey, $0.origin) = (key, origin) }
        }
        draft.idempotencyKey = key
        draft.form = try manager.form(for: draft, input, of: id)
        let serializer = manager.responseSerializer
        let destination = manager.destination
        draft.destination = try serializer.destination(for: destination)
        if draft.destination != destination, case .file(let file) = draft.destination { temporaryFile = file }
        if options.resumesDownload { try draft.resumeDownload(to: destination) }
        let (base, addition) = (draft, try page.get())
        if let addition { draft.add(addition) }
        guard proxy.loads.contains(id), manager.interceptor?.request(manager, shouldLoad: draft.params) != false else {
            return nil
        }
        let (prepared, cookies) = try manager.prepare(service, with: options, as: role)
        guard proxy.loads.contains(id) else { return nil }
        let isAccepted = try APIError.mapped(to: .invalidRequest) {
            try manager.validator?.request(manager, accepts: draft.params) != false
        }
        guard isAccepted else { throw APIError(.invalidRequest, reason: "the validator refused the parameters") }
        let stream = try manager.makeStream(of: id, draft.method, for: prepared)
        guard stream == nil || draft.destination == .memory else {
            throw APIError(.invalidRequest, reason: "the elements of a stream are not stored in a file")
        }
        let cache = try manager.cacheUse(
            of: prepared,
            cookies,
            with: options,
            as: role,
            sending: draft,
            isStream: stream != nil,
            show: options.cachePolicy == .first ? showHandler : nil
        )
        let call = Call(
            id: id,
            service: prepared,
            cookies: options.sendsCookies ? cookies : nil,
            draft: draft,
            serializer: serializer,
            priority: options.priority,
            loginRole: role,
            isOfLoad: EnvironmentScope.isOfLoad,
            coalescesIdentical: options.coalescesIdentical,
            extras: CallExtras(
                retryPolicy: options.retryPolicy,
                deadline: options.deadline,
                acceptedStatuses: options.acceptedStatuses,
                trace: trace,
                stream: stream,
                cache: cache,
                gate: manager.hooks?.wrappedValue.gate,
                relogin: ReloginScope.ofSession
            ),
            progress: proxy.progress(of: id, sending: draft, streams: stream != nil, progressHandler)
        )
        if cache?.rule == .fallback, cache?.usesStale == true {
            fallback = call
        }
        guard addition != nil else { return call }
        callForPage = { addition in
            var draft = base
            draft.add(addition)
            // What is sent again because of an edit is to have another response.
            draft.idempotencyKey = options.idempotencyKey?()
            return Call(call, sending: draft)
        }
        return call
    }

    private func run(_ call: Call<Manager.Response>) {
        proxy.start(call) { [delivery = proxy.delivery] result in
            delivery.deliver {
                guard !self.isFallingBack else { return }
                self.scope.run { self.didFinish(result) }
            }
        }
    }

    /// Delivers progress from the transport's thread on the main actor.
    private var progressHandler: TransferProgress.Handler? {
        guard notifiesDelegateOfProgress || progress != nil else { return nil }
        return { [proxy, id] progress in
            proxy.delivery.deliver(progress, of: id) { progress in
                guard proxy.loads.contains(id) else { return }
                self.scope.run { self.didMake(progress) }
            }
        }
    }

    /// Delivers a stored response on the main actor, before the ending.
    private var showHandler: CacheUse.ShowHandler {
        { [proxy] stored in
            proxy.deliver { self.scope.run { self.didLookUp(stored) } }
        }
    }

    private func didLookUp(_ stored: (any Sendable, APIResponse)?) {
        guard let manager, proxy.loads.contains(id), manager.history.recordLookup(id) else { return }
        guard case let (value, response)? = stored, let value = value as? Manager.Response,
            // What the validator refuses is not shown.
            (try? manager.validator?.request(manager, accepts: value, in: response) != false) == true
        else {
            // Of an older load, perhaps with other parameters.
            if manager.cachedContent != nil { manager.cachedContent = nil }
            return
        }
        guard proxy.loads.contains(id) else { return }
        let content = manager.reformData(value)
        guard proxy.loads.contains(id) else { return }
        manager.cachedContent = content
        // Those who observe it may have cancelled the load as well.
        guard manager.receivers[id] == nil, proxy.loads.contains(id) else { return }
        manager.delegate?.managerCallAPI(manager, didLoadCached: response)
    }

    private func didMake(_ progress: TransferProgress) {
        guard let manager else { return }
        if manager.loads.last == id { manager.progress = progress }
        self.progress?(progress)
        guard notifiesDelegateOfProgress, proxy.loads.contains(id) else { return }
        manager.delegate?.managerCallAPI(manager, didMake: progress)
    }

    // MARK: Ending

    /// Ends with the response of an earlier load.
    func end(withFormer content: any Sendable, _ response: APIResponse) {
        isFormer = true
        proxy.deliver { self.scope.run { self.willEnd(with: .success(content), response) } }
    }

    private func didFinish(_ result: Result<LoadedValue<Manager.Response>, APIError>) {
        var result = result
        guard proxy.loads.contains(id), !isEnding, !repeatsPage(insteadOf: &result) else { return }
        let response = (try? result.get().response) ?? result.error?.response
        var outcome =
            manager.map { self.outcome(of: result, response, for: $0) } ?? result.map { $0.value as any Sendable }
        // The validator or reformData may have edited the list.
        if repeatsPage(insteadOf: &outcome) { return }
        outcome = outcome.mapError(ended)
        guard let error = outcome.error, let file = proxy.loads[id]?.file else {
            return willEnd(with: outcome, response)
        }
        isEnding = true
        file.discardLater(isRefused: error.refusesFile) { [proxy, outcome] in
            proxy.deliver { self.scope.run { self.willEnd(with: outcome, response) } }
        }
    }

    private func willEnd(with outcome: Result<any Sendable, APIError>, _ response: APIResponse?) {
        guard proxy.loads.contains(id) else { return }
        var (outcome, response) = (outcome, response)
        if let manager { manager.interceptor?.request(manager, willEnd: outcome.ending) }
        // The interceptor, the validator and reformData may have cancelled the load: then that is its ending.
        guard proxy.loads.contains(id) else { return }
        // Before the claim, because observers of the loads may cancel it as well: then its ending is still to come.
        if manager?.removeLoad(id) == true { manager?.endingCount += 1 }
        guard let load = proxy.loads.claim(id) else { return }
        if let file = load.file {
            outcome = file.end(with: outcome).mapError(ended)
            if outcome.error != nil { response = response?.withoutFile }
        }
        let isSignIn = role == .signIn && !isFormer && outcome.error == nil
        let hasSignedIn = isSignIn && response.map { $0.status < 400 } == true
        if isFormer, let response { trace?.emit(.respondedFromCache(response)) }
        if hasSignedIn {
            load.login?.beginSession()
            // Perhaps as another user, without a logout before.
            proxy.cache?.endSessions(of: origin.session.jar)
        }
        trace?.end(outcome.ending, response: response)
        end(with: outcome, response: response)
        if hasSignedIn { load.login?.didSignIn() }
    }

    /// Requests the page of a list again if edits have made its response out of date; the load has not ended then.
    private func repeatsPage<Value>(insteadOf result: inout Result<Value, APIError>) -> Bool {
        guard let callForPage, proxy.loads.contains(id), let pager = manager?.pager else { return false }
        do throws(APIError) {
            guard let addition = try pager.additionToRepeat(id, after: result.error) else { return false }
            fallback = nil
            run(callForPage(addition))
            return true
        } catch {
            result = .failure(error)
            return false
        }
    }

    /// Ends a list, instead of failing, if the requested page does not exist.
    private func outcome(
        of result: Result<LoadedValue<Manager.Response>, APIError>,
        _ response: APIResponse?,
        for manager: Manager
    ) -> Result<any Sendable, APIError> {
        do throws(APIError) {
            if let response { manager.interceptor?.request(manager, didReceive: response) }
            try checkCancellation()
            let loaded = try result.get()
            do throws(APIError) {
                let isAccepted = try APIError.mapped(to: .invalidResponse) {
                    try manager.validator?.request(manager, accepts: loaded.value, in: loaded.response) != false
                }
                guard isAccepted else { throw APIError(.invalidResponse) }
            } catch {
                loaded.response.forget?()
                throw error.withResponse(ifMissing: loaded.response)
            }
            try checkCancellation()
            manager.pager?.didReceive(loaded.value, in: loaded.response, of: id)
            return .success(manager.reformData(loaded.value))
        } catch {
            return manager.pager?.endsList(with: error, of: id) == true
                ? .success(EndOfList(error: ended(error))) : .failure(error)
        }
    }

    /// The app may have cancelled the load just now, of which no other hook is to be called then.
    private func checkCancellation() throws(APIError) {
        guard proxy.loads.contains(id) else { throw APIError(.cancelled) }
    }

    private func wasCancelled() {
        if let manager { manager.interceptor?.request(manager, willEnd: .cancelled) }
        end(with: .failure(ended(APIError(.cancelled))), response: nil)
    }

    private func timedOut() {
        // What is stored may be of another position than that of an edited list.
        let isOutdated = fallback != nil && (try? manager?.pager?.additionToRepeat(id, after: nil)) ?? nil != nil
        let fallback = isOutdated ? nil : exchange(&fallback, with: nil)
        (callForPage, isFallingBack) = (nil, fallback != nil)
        // The page may have been requested again since the deadline passed.
        if let load = proxy.loads[id] { proxy.stopWork(of: load) }
        guard let fallback else { return didFinish(.failure(Interruption.timeout)) }
        // The load ends with the first of both: code of the app may not return.
        let timer = Task {
            try? await proxy.clock.sleep(for: .seconds(1))
            didFallBack(to: nil)
        }
        Task {
            didFallBack(to: await LoadRunner.fallback(of: fallback, in: proxy))
            timer.cancel()
        }
    }

    private func didFallBack(to stored: LoadedValue<Manager.Response>?) {
        scope.run { didFinish(stored.map(Result.success) ?? .failure(Interruption.timeout)) }
    }

    func ended(_ error: APIError) -> APIError {
        error.ended(id, origin.method, path: origin.path, messages: service?.errorMessages)
    }

    private func removeTemporaryFile() { if let temporaryFile { unlink(temporaryFile.path) } }

    /// Records the ending before any callback, each of which may begin or cancel loads of the request.
    private func end(with outcome: Result<any Sendable, APIError>, response: APIResponse?) {
        dropCalls()
        proxy.endingPublisher.publish {
            EndedRequest(id, of: Manager.self, origin.method, path: origin.path, response, outcome.ending)
        }
        guard let manager else {
            if outcome.error == nil { removeTemporaryFile() }
            SharedIndicators.hideAll(of: id)
            return
        }
        if !manager.removeLoad(id) { manager.endingCount -= 1 }
        let notifyObserver = record(outcome, response, in: manager)
        let isReceived = manager.history.newestSuccess == id || manager.waiters.contains { $0.id == id }
        // A delegate finds only the newest response.
        if outcome.error == nil, !isReceived { removeTemporaryFile() }
        let receiver = manager.receivers.removeValue(forKey: id) ?? .delegate
        if let part = manager.pager?.followUp { begin(part, after: receiver, of: manager) }
        SharedIndicators.hideAll(of: id)
        notifyObserver?()
        notify(receiver, of: manager, with: outcome)
    }

    /// Returns what notifies the observer of a list.
    private func record(
        _ outcome: Result<any Sendable, APIError>,
        _ response: APIResponse?,
        in manager: Manager
    ) -> (() -> Void)? {
        manager.newestEndedID = id
        // A cancellation replaces nothing else.
        if outcome.error?.type != .cancelled {
            if manager.history.recordEnding(id, outcome.error) {
                if manager.error != nil || outcome.error != nil { manager.error = outcome.error }
                if manager.isSuccess != (outcome.error == nil) { manager.isSuccess.toggle() }
            }
            if let response, manager.history.recordResponse(id) { manager.rawResponse = response }
            if case .success(let content) = outcome, !(content is EndOfList),
                manager.history.recordSuccess(id, response, from: origin)
            {
                manager.content = content
            }
        }
        guard !isFormer, let pager = manager.pager else { return nil }
        let notifyObserver = pager.loadDidEnd(id, with: outcome, response: response)
        if notifyObserver == nil, outcome.error == nil, manager.history.newestSuccess == id {
            manager.history.removeContent()
        }
        return notifyObserver
    }

    private func begin(_ part: ListPart, after receiver: EndingReceiver, of manager: Manager) {
        // A call receives one ending, and an async one needs no delegate.
        switch receiver {
        case .delegate: _ = manager.begin(loading: part, input: nil)
        // Nothing but a closure may retain the request.
        case .closure: _ = manager.begin(loading: part, input: nil, ended: { _ in })
        // The caller has its response: one that joins the load is the first who wants it.
        case .caller: proxy.loads.disown(manager.begin(loading: part, input: nil, receiver: .caller()))
        }
    }

    private func notify(_ receiver: EndingReceiver, of manager: Manager, with outcome: Result<any Sendable, APIError>) {
        // In the order of their calls.
        let waiters = manager.waiters.filter { $0.id == id }
        manager.waiters.removeAll { $0.id == id }
        let ending = outcome.ending
        if presentsErrors, case .failure(let error) = ending { manager.present(error, to: receiver) }
        if case .delegate = receiver {
            // An indicator or an observer may have reset the request.
            if manager.newestEndedID != id { manager.newestEndedID = id }
            switch ending {
            case .success: manager.delegate?.managerCallAPIDidSucceed(manager)
            case .failure(let error): manager.delegate?.managerCallAPIDidFail(manager, with: error)
            case .cancelled: manager.delegate?.managerCallAPIDidCancel(manager)
            }
        }
        for waiter in waiters {
            // The delegate or another waiter may have signed the user out.
            let isOutdated = outcome.error == nil && role != .signIn && service?.login.hasEnded(since: id) == true
            waiter.scope.run { waiter.ended(isOutdated ? .failure(ended(APIError(.cancelled))) : outcome) }
        }
        manager.interceptor?.request(manager, didEnd: ending)
    }
}
