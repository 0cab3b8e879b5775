import Dispatch
import Synchronization

/// The loads that have begun and not ended, by ID.
///
/// The code that removes a load from the table delivers its ending.
final class LoadTable: Sendable {
    private let loads = Mutex<[RequestID: ActiveLoad]>([:])

    /// What an app may inspect of the loads, oldest first.
    var activeRequests: [ActiveRequest] {
        loads.withLock { Array($0.values) }.map(\.summary).sorted { $0.id < $1.id }
    }

    /// The tasks that carry the loads, without those that wait in the queue.
    var tasks: [Task<Void, Never>] { loads.withLock { $0.values.compactMap(\.task) } }

    /// The number of loads that have not ended.
    var count: Int { loads.withLock(\.count) }

    /// Whether the load has not ended.
    func contains(_ id: RequestID) -> Bool {
        loads.withLock { $0[id] != nil }
    }

    /// Whether one of the loads has not ended.
    func containsAny(of ids: some Sequence<RequestID>) -> Bool {
        loads.withLock { loads in ids.contains { loads[$0] != nil } }
    }

    /// Adds a load, which can be cancelled from now on.
    func insert(_ load: ActiveLoad) {
        loads.withLock { $0[load.id] = load }
    }

    /// Removes a load for its ending; `nil` when it has ended.
    func claim(_ id: RequestID) -> ActiveLoad? {
        let load = loads.take { $0.removeValue(forKey: id) }
        load?.timer?.cancel()
        return load
    }

    /// Removes those of `ids` that satisfy `condition`, and returns them oldest first.
    func claim(_ ids: [RequestID], where condition: (ActiveLoad) -> Bool = { _ in true }) -> [ActiveLoad] {
        let claimed = loads.take { loads in
            ids.compactMap { id in loads[id].map(condition) == true ? loads.removeValue(forKey: id) : nil }
        }
        for load in claimed { load.timer?.cancel() }
        return claimed.sorted { $0.id < $1.id }
    }

    /// Removes all loads that satisfy `condition`, and returns them oldest first.
    func claimAll(where condition: (ActiveLoad) -> Bool = { _ in true }) -> [ActiveLoad] {
        claim(loads.withLock { $0.values.filter(condition).map(\.id) }, where: condition)
    }

    /// Returns a load; `nil` when it has ended.
    subscript(id: RequestID) -> ActiveLoad? { loads.withLock { $0[id] } }

    /// Changes a load, and returns what `change` returns; `nil` when the load has ended.
    private func update<Result>(_ id: RequestID, _ change: (inout ActiveLoad) -> Result) -> Result? {
        loads.take { loads in
            guard let index = loads.index(forKey: id) else { return nil }
            return change(&loads.values[index])
        }
    }

    // Each of these returns whether the load is active.

    /// Records the task that carries a load.
    func setTask(_ task: Task<Void, Never>, of id: RequestID) -> Bool { update(id) { $0.task = task } != nil }

    /// Records where a load waits.
    func setWaiting(in lane: QueueLane, of id: RequestID) -> Bool { update(id) { $0.lane = lane } != nil }

    /// Records the timer of a load's deadline, unless it has one.
    func setTimer(_ timer: Task<Void, Never>, of id: RequestID) -> Bool {
        update(id) { load in
            guard load.timer == nil else { return false }
            load.timer = timer
            return true
        } == true
    }

    /// Records the file of a download, which ends with the load, and removes that of a response that is received again.
    func setFile(_ file: StagedFile?, of id: RequestID) -> Bool {
        let former = update(id) { exchange(&$0.file, with: file) }
        former??.remove()
        return former != nil
    }

    /// Removes what an attempt of a load has written to the disk.
    func discardFile(of id: RequestID) { _ = setFile(nil, of: id) }

    /// Counts a send of a load with adapters.
    ///
    /// - Returns: Its number, 1 for the first one; `nil` when the load has ended.
    func countSend(of id: RequestID) -> Int? {
        update(id) { load in
            load.sends &+= 1
            return Int(load.sends)
        }
    }

    /// Records that an adapter has a load sent again.
    ///
    /// - Returns: Whether the load is active and this is the first time.
    func setSentAgain(_ id: RequestID) -> Bool {
        update(id) { exchange(&$0.hasBeenSentAgain, with: true) } == false
    }

    /// Counts one more who wants a load: a new load of its request would share its ending.
    ///
    /// - Returns: Whether it may: not if `id` has ended, or waits for a login which needs the new load.
    func join(_ id: RequestID, as role: LoginRole) -> Bool {
        update(id) { load in
            guard load.loginRole.isLoginRequest || !role.isLoginRequest else { return false }
            load.claimants += 1
            return true
        } == true
    }

    /// Counts one more who wants a load.
    func join(_ id: RequestID) -> Bool { update(id) { $0.claimants += 1 } != nil }

    /// Counts one less who wants a load, which goes on without.
    func disown(_ id: RequestID) { _ = update(id) { $0.claimants -= 1 } }

    /// Counts one less who wants a load, and removes it with the last one for its ending.
    func leave(_ id: RequestID) -> Departure {
        let departure = loads.take { loads -> Departure in
            guard let load = loads[id] else { return .ended }
            loads[id]?.claimants -= 1
            guard load.claimants <= 1, let last = loads.removeValue(forKey: id) else { return .others }
            return .last(last)
        }
        if case .last(let load) = departure { load.timer?.cancel() }
        return departure
    }

    /// What remains of a load that one of those who want it has left.
    enum Departure {
        /// This load, which no caller wants.
        case last(ActiveLoad)
        /// The load, which others want.
        case others
        /// Nothing.
        case ended
    }
}

/// A load in the table; it does not refer to the request object.
struct ActiveLoad {
    let id: RequestID
    private let method: HTTPMethod
    /// The path of a request, or the URL of a plain call.
    private let path: String
    /// Whether it is cancelled when the request object is released.
    let endsWithOwner: Bool
    /// The session that it ends with; `nil` for a plain call.
    let login: LoginSession?
    let loginRole: LoginRole
    /// Whether an adapter has had it sent again.
    fileprivate(set) var hasBeenSentAgain = false
    /// How often it has been sent; counted only where there are adapters.
    fileprivate(set) var sends: Int32 = 0
    /// Delivers the ending of a load that does not end by its work.
    private let interrupted: @Sendable (Interruption) -> Void
    /// How many want it: the delegate, closure or caller that has begun it, and those that have joined it.
    fileprivate(set) var claimants: Int32 = 1
    /// Where it has waited in the queue; `nil` if it was admitted at once.
    fileprivate(set) var lane: QueueLane?
    fileprivate(set) var task: Task<Void, Never>?
    /// Waits for the deadline; `nil` without one.
    fileprivate(set) var timer: Task<Void, Never>?
    /// The file of a download.
    fileprivate(set) var file: StagedFile?

    init(
        id: RequestID,
        method: HTTPMethod,
        path: String,
        endsWithOwner: Bool = true,
        login: LoginSession? = nil,
        loginRole: LoginRole,
        interrupted: @escaping @Sendable (Interruption) -> Void
    ) {
        self.id = id
        self.method = method
        self.path = path
        self.endsWithOwner = endsWithOwner
        self.login = login
        self.loginRole = loginRole
        self.interrupted = interrupted
    }

    /// What an app may inspect.
    var summary: ActiveRequest { ActiveRequest(id: id, method: method, path: URLRedaction.path(path)) }

    /// Stops the work of the load and delivers its ending, once its file is removed.
    ///
    /// - Parameter isMistake: Whether its request object was released while its delegate exists.
    func cancel(isMistake: Bool) {
        task?.cancel()
        guard let file else { return interrupted(.cancelled(isMistake: isMistake)) }
        // On another thread, because the disk may be slow, and before the ending, when nothing may be left.
        DispatchQueue(label: "errand.file").async { [interrupted] in
            file.remove()
            interrupted(.cancelled(isMistake: isMistake))
        }
    }

    /// Delivers the ending of a load whose deadline has passed, which claims it like any other.
    func deadlineDidPass() { interrupted(.timedOut) }

    /// Cancels the task that carries the load.
    func stopWork() { task?.cancel() }
}

/// Why a load ends before its work does.
enum Interruption {
    /// It was cancelled; `isMistake` is whether its request object was released while its delegate exists.
    case cancelled(isMistake: Bool)
    /// Its deadline has passed.
    case timedOut

    /// The error of a deadline.
    static var timeout: APIError { APIError(TransportError(.timeout, "the deadline of the load passed")) }
}
