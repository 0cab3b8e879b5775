import Synchronization

/// The loads that have begun and not ended; the code that removes one delivers its ending.
final class LoadTable: Sendable {
    private let loads = Lock<[RequestID: ActiveLoad]>([:])
    private let lastCancel = Atomic<UInt64>(0)

    /// Oldest first.
    var activeRequests: [ActiveRequest] {
        loads.withLock { Array($0.values) }.map(\.summary).sorted { $0.id < $1.id }
    }

    /// Without the loads that wait in the queue.
    var tasks: [Task<Void, Never>] { loads.withLock { $0.values.compactMap(\.task) } }

    func contains(_ id: RequestID) -> Bool { loads.withLock { $0[id] != nil } }

    func containsAny(of ids: some Sequence<RequestID>) -> Bool {
        loads.withLock { loads in ids.contains { loads[$0] != nil } }
    }

    func insert(_ load: ActiveLoad) { loads.withLock { $0[load.id] = load } }

    /// Removes a load for its ending.
    func claim(_ id: RequestID) -> ActiveLoad? {
        let load = loads.withLock { $0.removeValue(forKey: id) }
        load?.timer?.cancel()
        return load
    }

    /// Returns the removed loads oldest first.
    func claim(_ ids: [RequestID], where condition: (ActiveLoad) -> Bool = { _ in true }) -> [ActiveLoad] {
        let claimed = loads.withLock { loads in
            ids.compactMap { id in loads[id].map(condition) == true ? loads.removeValue(forKey: id) : nil }
        }
        for load in claimed { load.timer?.cancel() }
        return claimed.sorted { $0.id < $1.id }
    }
    func claimAll(where condition: (ActiveLoad) -> Bool = { _ in true }) -> [ActiveLoad] {
        claim(loads.withLock { $0.values.filter(condition).map(\.id) }, where: condition)
    }
    /// Not those that a relogin makes: the server may have replaced the login already, which others need.
    func claimEvery() -> [ActiveLoad] {
        lastCancel.store(RequestID.ofChange().rawValue, ordering: .releasing)
        return claimAll { !$0.isInRelogin }
    }
    /// When every load was claimed, for groups whose next load has not begun.
    var cancelledAt: RequestID { RequestID(rawValue: lastCancel.load(ordering: .acquiring)) }

    subscript(id: RequestID) -> ActiveLoad? { loads.withLock { $0[id] } }

    /// Returns `nil` when the load has ended.
    private func update<Result>(_ id: RequestID, _ change: (inout ActiveLoad) -> Result) -> Result? {
        loads.withLock { loads in
            guard let index = loads.index(forKey: id) else { return nil }
            return change(&loads.values[index])
        }
    }

    /// Cancels the task of a load that goes on, also if the task is not known yet.
    func stopWork(of id: RequestID) {
        let task = update(id) { load in
            load.isStopped = true
            return load.task
        }
        task??.cancel()
    }

    /// Called when the load has its first turn.
    func setBegun(_ id: RequestID) { _ = update(id) { $0.isQueued = false } }

    /// For the list, and for a load that has not queued yet; of one that waits, the queue has the one that counts.
    func setPriority(_ priority: RequestPriority, of id: RequestID) {
        _ = update(id) { load in
            load.priority = priority
            load.lane?.priority = priority
        }
    }
    func lane(of id: RequestID) -> QueueLane? { update(id, \.lane) ?? nil }

    func setNeedsNoPlace(_ id: RequestID) { _ = update(id) { $0.needsNoPlace = true } }
    func isInRelogin(_ id: RequestID) -> Bool { update(id, \.isInRelogin) == true }
    func needsNoPlace(_ id: RequestID) -> Bool { update(id, \.needsNoPlace) == true }
    func wish(of id: RequestID) -> QueueWish { update(id) { ($0.lane, $0.needsNoPlace) } ?? (nil, false) }

    func setMeter(_ meter: TransferMeter, of id: RequestID) { _ = update(id) { $0.transfer.meter = meter } }

    // Each of these returns whether the load is active.

    func setTask(_ task: Task<Void, Never>, of id: RequestID) -> Bool {
        update(id) { load in
            load.task = task
            return !load.isStopped
        } == true
    }
    /// For the end of a load whose work was stopped.
    func replaceTask(_ task: Task<Void, Never>, of id: RequestID) -> Bool { update(id) { $0.task = task } != nil }
    /// Keeps the lane that there is, whose priority may have been changed.
    func setWaiting(in lane: QueueLane, of id: RequestID) -> Bool { update(id) { $0.lane = $0.lane ?? lane } != nil }

    /// Keeps the timer that there is.
    func setTimer(_ timer: Task<Void, Never>, until end: Duration, of id: RequestID) -> Bool {
        update(id) { load in
            guard load.timer == nil else { return false }
            load.timer = DeadlineTimer(until: end, timer)
            return true
        } == true
    }

    /// By the clock, when its deadline passes; `nil` if no deadline runs.
    func deadline(of id: RequestID) -> Duration? { update(id, \.timer?.end) ?? nil }

    /// While a load queues, no deadline runs; does nothing once it has begun, which may be on another thread.
    func removeTimer(of id: RequestID) {
        let timer = update(id) { $0.isQueued ? exchange(&$0.timer, with: nil) : nil }
        timer??.cancel()
    }

    /// Removes the former file, that of a response that is received again.
    func setFile(_ file: (any LoadFile)?, of id: RequestID, isRefused: Bool = false) -> Bool {
        let former = update(id) { load -> (any LoadFile)? in
            let former = exchange(&load.transfer.file, with: file)
            // It has that.
            guard former !== file?.part else { return nil }
            // Who finds no file from now on removes what is left of one that is being left.
            former?.willDiscard()
            return former
        }
        former??.discard(isRefused: isRefused)
        return former != nil
    }
    func discardFile(of id: RequestID, isRefused: Bool = false) { _ = setFile(nil, of: id, isRefused: isRefused) }

    /// Returns the number of the send, from 1, and why adapters have had the load sent again.
    func countSend(of id: RequestID) -> (number: Int, sentAgain: AdapterRetry.Cause)? {
        update(id) { load in
            load.sends &+= 1
            return (Int(load.sends), load.sentAgain)
        }
    }

    func uncountSend(of id: RequestID) { _ = update(id) { $0.sends = max(0, $0.sends - 1) } }

    /// Returns whether the load is active and this is the first time for the cause.
    func setSentAgain(_ id: RequestID, for cause: AdapterRetry.Cause) -> Bool {
        update(id) { $0.sentAgain.insert(cause).inserted } == true
    }

    /// For another connection of a stream.
    func resetSentAgain(_ id: RequestID) { update(id) { $0.sentAgain = [] } }

    /// Counts one more who wants a load; not if the load waits for a login which needs the new one.
    func join(_ id: RequestID, as role: LoginRole = .none) -> Bool {
        update(id) { load in
            guard load.loginRole.isLoginRequest || !role.isLoginRequest else { return false }
            load.claimants += 1
            return true
        } == true
    }

    /// Counts one less who wants a load, which goes on without.
    func disown(_ id: RequestID) { _ = update(id) { $0.claimants -= 1 } }

    /// Counts one less who wants a load, and removes it with the last one; `isShared` is whether others want it.
    func leave(_ id: RequestID) -> (last: ActiveLoad?, isShared: Bool) {
        let left = loads.withLock { loads -> (last: ActiveLoad?, isShared: Bool) in
            guard let load = loads[id] else { return (nil, false) }
            loads[id]?.claimants -= 1
            return load.claimants > 1 ? (nil, true) : (loads.removeValue(forKey: id), false)
        }
        left.last?.timer?.cancel()
        return left
    }
}

/// A load in the table; it does not refer to the request object.
struct ActiveLoad {
    let id: RequestID
    let method: HTTPMethod
    /// The path of a request, or the URL of a plain call.
    let path: String
    var endsWithOwner = true
    fileprivate(set) var priority = RequestPriority.normal
    var isQueued = true
    /// Others that have the places may wait for it.
    fileprivate(set) var needsNoPlace = false
    fileprivate(set) var isStopped = false
    /// Ends the load with it; `nil` without a service.
    var login: LoginSession?
    let loginRole: LoginRole
    /// Whether it began in a relogin, also in that of another service.
    let isInRelogin = ReloginScope.isOpen
    fileprivate(set) var sentAgain: AdapterRetry.Cause = []
    /// Counted only where there are adapters.
    fileprivate(set) var sends: Int32 = 0
    let interrupted: @Sendable (Interruption) -> Void
    /// The number of those who want it: who has begun it, and those that have joined it.
    fileprivate(set) var claimants: Int32 = 1
    /// `nil` if it was admitted at once.
    fileprivate(set) var lane: QueueLane?
    fileprivate(set) var task: Task<Void, Never>?
    fileprivate(set) var timer: DeadlineTimer?
    /// Boxed, because most loads have none, and hundreds of thousands may wait.
    fileprivate(set) var box: Boxed<Transfer>?

    /// What loads have that do not transfer everything in memory.
    typealias Transfer = (meter: TransferMeter?, file: (any LoadFile)?)

    fileprivate var transfer: Transfer {
        get { box?.wrappedValue ?? (nil, nil) }
        set { if box != nil || newValue.meter != nil || newValue.file != nil { box = Boxed(wrappedValue: newValue) } }
    }
    var meter: TransferMeter? { transfer.meter }
    var file: (any LoadFile)? { transfer.file }

    var summary: ActiveRequest {
        ActiveRequest(
            id: id,
            method: method,
            path: URLRedaction.path(path),
            kind: meter?.kind ?? .data,
            priority: priority,
            isQueued: isQueued,
            progress: meter?.progress,
            bytesPerSecond: meter?.bytesPerSecond,
            canPause: canContinue
        )
    }

    /// Without a file, it has not been sent.
    var canContinue: Bool { meter?.resumes == true && file?.canContinue != false }

    /// Delivers the ending once the file is removed.
    func cancel(isMistake: Bool) {
        task?.cancel()
        guard let file else { return interrupted(.cancelled(isMistake: isMistake)) }
        file.discardLater(isRefused: false) { [interrupted] in interrupted(.cancelled(isMistake: isMistake)) }
    }
}

/// Waits for the deadline of a load; an object, because most loads have none.
final class DeadlineTimer: Sendable {
    let end: Duration
    private let task: Task<Void, Never>

    init(until end: Duration, _ task: Task<Void, Never>) { (self.end, self.task) = (end, task) }

    func cancel() { task.cancel() }
}

/// Why a load ends before its work does.
enum Interruption {
    /// `isMistake` is whether its request object was released while its delegate exists.
    case cancelled(isMistake: Bool)
    case timedOut

    static var timeout: APIError { APIError(TransportError(.timeout, "the deadline of the load passed")) }
}
