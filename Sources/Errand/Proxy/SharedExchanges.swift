import Foundation
import Synchronization

/// The exchanges that loads with identical requests share.
final class SharedExchanges: Sendable {
    private let exchanges = Lock<[SharedExchange.Key: SharedExchange]>([:])
    /// How many requests that may have changed something on a server have ended.
    private let changes = Atomic<Int>(0)

    var count: Int { exchanges.withLock(\.count) }
    var memberCount: Int { exchanges.withLock { $0.values.reduce(0) { $0 + $1.members.count } } }

    /// The first load begins the exchange; returns `nil` if the login that the request has was replaced while it queued.
    func response<Value>(
        to request: HTTPRequest,
        of call: Call<Value>,
        in generation: Int,
        _ proxy: APIProxy,
        progress: TransferProgress.Handler? = nil,
        didQueue: @escaping @Sendable () -> Void = {},
        begin: @escaping @Sendable () -> Void = {}
    ) async throws(APIError) -> APIResponse? {
        let key = SharedExchange.Key(request, of: call, in: generation, after: changes.load(ordering: .relaxed))
        let id = call.id
        let outcome = await withCancellableContinuation(ifCancelled: .failure(APIError(.cancelled))) { waiter in
            let member = SharedExchange.Member(
                id: id,
                waiter: waiter,
                progress: progress,
                trace: call.trace,
                lane: call.exchangeLane,
                didQueue: didQueue,
                begin: begin
            )
            if let trace = join(key, as: member, of: proxy) {
                start(SharedExchange.Name(key: key, number: id), request, of: call, in: generation, proxy, trace)
            }
            return nil
        } remove: {
            leave(key, id: id, of: proxy)
        }
        return try outcome.get()
    }

    /// Admits the exchange for which a load waits, although there is no room.
    func admitAnyway(_ id: RequestID, in queue: RequestQueue) {
        let exchange = exchanges.withLock { $0.values.first { $0.members[id] != nil } }
        if let exchange { queue.admitAnyway(exchange.number.sharedQueueNumber) }
    }

    /// A load that begins from now on shares no exchange of before.
    func didChangeServer() { changes.add(1, ordering: .relaxed) }

    private func start<Value>(
        _ name: SharedExchange.Name,
        _ request: HTTPRequest,
        of call: Call<Value>,
        in generation: Int,
        _ proxy: APIProxy,
        _ trace: ExchangeTrace
    ) {
        let task = Task {
            let lane = update(name, \.lane) ?? nil
            var slot = QueueSlot(proxy.queue, number: name.number.sharedQueueNumber, lane: lane)
            let outcome: SharedExchange.Outcome
            do throws(APIError) {
                slot = try await slot.acquire { [self] in
                    // Not before: who joins it from now on finds it in the queue.
                    setStage(.queued, of: name).forEach { $0.didQueue() }
                } wish: {
                    self.wish(of: name, in: proxy.loads)
                }
                defer { slot.release() }
                setStage(.admitted, of: name).forEach { $0.begin() }
                guard !removeIfCancelled(name, in: proxy.loads) else { throw APIError(.cancelled) }
                if call.isCurrent(generation), !call.hasSessionEnded {
                    let session = call.cookieSession(by: proxy.clock)
                    let exchange = Exchange(request, id: nil, session: session, proxy: proxy, trace: trace)
                    let response = try await exchange.send { progress in
                        for member in self.members(of: name) { member.progress?(progress) }
                    }
                    outcome = .success(response)
                    // Before the next exchange is admitted.
                    if response.status == 429 { LoadRecovery(call, in: proxy).pauseHost(after: response) }
                    slot.didReceive(isMultiplexed: exchange.isMultiplexed, keepsPlace: false)
                } else {
                    outcome = .success(nil)
                }
            } catch {
                outcome = .failure(error)
            }
            remove(name)?.end(with: outcome)
        }
        if update(name, { $0.task = task }) == nil { task.cancel() }
    }

    private func remove(_ name: SharedExchange.Name) -> SharedExchange? {
        exchanges.withLock { $0[name.key]?.number == name.number ? $0.removeValue(forKey: name.key) : nil }
    }

    /// Returns `nil` when the exchange has ended.
    private func update<Result>(_ name: SharedExchange.Name, _ change: (inout SharedExchange) -> Result) -> Result? {
        exchanges.withLock { exchanges in
            guard let index = exchanges.index(forKey: name.key), exchanges.values[index].number == name.number else {
                return nil
            }
            return change(&exchanges.values[index])
        }
    }

    private func members(of name: SharedExchange.Name) -> [SharedExchange.Member] {
        update(name) { Array($0.members.values) } ?? []
    }

    /// Returns the loads of the exchange; those that join it later learn the stage when they do.
    private func setStage(_ stage: SharedExchange.Stage, of name: SharedExchange.Name) -> [SharedExchange.Member] {
        update(name) { exchange in
            exchange.stage = stage
            return Array(exchange.members.values)
        } ?? []
    }

    /// Returns the trace of the exchange if the load is the first, which has to begin it; one that waits gets the lane of a load
    /// with a higher priority.
    private func join(_ key: SharedExchange.Key, as member: SharedExchange.Member, of proxy: APIProxy) -> ExchangeTrace?
    {
        // Events of the exchange may follow before it is known whether the load has joined it.
        member.trace?.reserve()
        let (isFirst, former, shared, exchange) = exchanges.withLock { exchanges in
            let isFirst = exchanges[key] == nil
            let name = SharedExchange.Name(key: key, number: member.id)
            var shared =
                exchanges.removeValue(forKey: key)
                ?? SharedExchange(
                    number: member.id,
                    lane: member.lane,
                    trace: ExchangeTrace(isShared: true) { [self] in members(of: name).compactMap(\.trace) }
                )
            shared.members[member.id] = member
            let former = shared.lane
            if let lane = member.lane, let former, lane.priority > former.priority { shared.lane = lane }
            exchanges[key] = shared
            return (isFirst, former, shared, shared.trace.number)
        }
        member.trace?.fillReserved(isJoined: !isFirst, isStarted: shared.stage == .admitted, exchange: exchange)
        switch shared.stage {
        case .begun: break
        case .queued:
            member.didQueue()
            if let former { move(SharedExchange.Name(key: key, number: shared.number), from: former, of: proxy) }
        case .admitted: member.begin()
        }
        return isFirst ? shared.trace : nil
    }

    private func wish(of name: SharedExchange.Name, in loads: LoadTable) -> QueueWish {
        (update(name, \.lane) ?? nil, members(of: name).contains { loads.needsNoPlace($0.id) })
    }

    /// Removes an exchange all of whose loads have been cancelled, so that no load joins it.
    ///
    /// Returns whether the exchange is not to be sent.
    private func removeIfCancelled(_ name: SharedExchange.Name, in loads: LoadTable) -> Bool {
        while true {
            let members = Set(members(of: name).map(\.id))
            guard !members.isEmpty else { return true }
            if loads.containsAny(of: members) { return false }
            let shared = exchanges.withLock { exchanges -> SharedExchange? in
                // A load that has joined meanwhile may be active.
                guard let shared = exchanges[name.key], shared.number == name.number,
                    Set(shared.members.keys) == members
                else { return nil }
                return exchanges.removeValue(forKey: name.key)
            }
            guard let shared else { continue }
            shared.resumeAll(returning: .failure(APIError(.cancelled)))
            return true
        }
    }

    private func leave(_ key: SharedExchange.Key, id: RequestID, of proxy: APIProxy) -> SharedExchange.Waiter? {
        let left = exchanges.withLock { exchanges -> (SharedExchange.Member, SharedExchange, former: QueueLane?)? in
            guard let index = exchanges.index(forKey: key),
                let member = exchanges.values[index].members.removeValue(forKey: id)
            else { return nil }
            let former = exchanges.values[index].lane
            exchanges.values[index].lowerPriority(without: member)
            let shared = exchanges.values[index]
            if shared.members.isEmpty { exchanges.remove(at: index) }
            return (member, shared, former)
        }
        guard let (member, shared, former) = left else { return nil }
        if shared.members.isEmpty {
            shared.task?.cancel()
        } else if let former, shared.lane != former {
            move(SharedExchange.Name(key: key, number: shared.number), from: former, of: proxy)
        }
        return member.waiter
    }

    private func move(_ name: SharedExchange.Name, from lane: QueueLane, of proxy: APIProxy) {
        let place = QueuePlace(number: name.number.sharedQueueNumber, lane: lane)
        proxy.queue.fulfill({ wish(of: name, in: proxy.loads) }, at: place)
    }
}

/// One exchange that several loads share.
private struct SharedExchange {
    /// `nil` for one that was not sent.
    typealias Outcome = Result<APIResponse?, APIError>
    typealias Waiter = CheckedContinuation<Outcome, Never>

    /// All that is sent, the login that it is sent with, and how the response is read.
    struct Key: Hashable {
        let method: HTTPMethod
        let url: String
        let headers: [String]
        let body: HTTPBody
        let timeout: Duration?
        let deadline: Duration?
        let limits: HTTPLimits
        /// `nil` when no redirect is followed.
        let redirectLimit: Int?
        let login: ObjectIdentifier
        let cookies: ObjectIdentifier?
        /// Another one after a logout by another service with the same cookies.
        let cookieGeneration: CookieJar.Generation?
        /// Another one after such a service's sign-in as well.
        let cacheFolder: ObjectIdentifier?
        let allowsCellularAccess: Bool
        let generation: Int
        /// Another one while the app keeps the login of a sign-in.
        let beganSessions: Int
        /// A load that begins after a change on the server needs a response to a later request.
        let changeCount: Int
        let queues: Bool

        init<Value>(_ request: HTTPRequest, of call: Call<Value>, in generation: Int, after changes: Int) {
            method = request.method
            url = request.url.absoluteString
            headers = request.headers.map { "\($0.name):\($0.value)" }
            body = request.body
            timeout = request.timeout
            deadline = request.deadline
            limits = request.limits
            redirectLimit = request.redirectPolicy.limit
            login = ObjectIdentifier(call.service.login)
            cookies = call.cookies.map(ObjectIdentifier.init)
            allowsCellularAccess = request.allowsCellularAccess
            (self.generation, beganSessions) = (generation, call.service.login.sessions.begun)
            cookieGeneration = call.cookies?.generation
            cacheFolder = (call.cache?.folder).map(ObjectIdentifier.init)
            // Also those of other proxies with the same cache.
            changeCount = changes + (call.cache?.folder?.invalidationCount ?? 0)
            // What does not queue must not wait for what does.
            queues = call.exchangeLane != nil
        }
    }

    /// Distinguishes an exchange from a later one with the same key.
    struct Name {
        let key: Key
        /// The ID of its first load.
        let number: RequestID
    }

    struct Member {
        let id: RequestID
        let waiter: Waiter
        let progress: TransferProgress.Handler?
        let trace: LoadTrace?
        /// `nil` if it does not queue.
        let lane: QueueLane?
        let didQueue: @Sendable () -> Void
        let begin: @Sendable () -> Void
    }

    enum Stage {
        case begun, queued, admitted
    }

    let number: RequestID
    /// With the highest priority of its loads; `nil` for one that does not queue.
    var lane: QueueLane?
    let trace: ExchangeTrace
    var members: [RequestID: Member] = [:]
    var task: Task<Void, Never>?
    var stage = Stage.begun

    /// The highest priority may have been that of a member which has left.
    mutating func lowerPriority(without member: Member) {
        guard let former = lane?.priority, member.lane?.priority == former,
            !members.values.contains(where: { $0.lane?.priority == former })
        else { return }
        lane?.priority = members.values.compactMap(\.lane?.priority).max() ?? former
    }

    /// Called after the exchange was removed, so that no other load joins it.
    func end(with outcome: Outcome) {
        let ending = outcome.flatMap { $0.map(Result.success) ?? .failure(APIError(.cancelled)) }
        trace.end(with: ending, of: members.values.compactMap(\.trace))
        resumeAll(returning: outcome)
    }

    func resumeAll(returning outcome: Outcome) {
        for member in members.values { member.waiter.resume(returning: outcome) }
    }
}

extension HTTPRequest {
    var isShareable: Bool {
        [.get, .head].contains(method) && destination == .memory && observer == nil
    }
}
