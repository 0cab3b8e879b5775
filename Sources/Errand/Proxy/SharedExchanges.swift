import Foundation
import Synchronization

/// The exchanges that loads with identical requests share.
final class SharedExchanges: Sendable {
    private let exchanges = Mutex<[SharedExchange.Key: SharedExchange]>([:])

    /// The number of exchanges.
    var count: Int { exchanges.withLock(\.count) }

    /// The number of loads that share an exchange.
    var memberCount: Int { exchanges.withLock { $0.values.reduce(0) { $0 + $1.members.count } } }

    /// Returns the answer to a load from the exchange of its identical requests, which the first load begins.
    func response<Value>(
        to request: HTTPRequest,
        of call: APICall<Value>,
        in generation: Int,
        _ context: LoadContext
    ) async throws(APIError) -> APIResponse {
        let key = SharedExchange.Key(request, of: call, in: generation)
        let id = call.id
        let outcome = await withCancellableContinuation(ifCancelled: .failure(APIError(.cancelled))) { waiter in
            if join(key, as: id, SharedExchange.Member(waiter: waiter, progress: call.progress, turn: call.turn)) {
                let exchange = Exchange(
                    id: nil,
                    messages: call.service.errorMessages,
                    cookies: call.cookies,
                    host: call.exchangeLane?.host,
                    context: context
                )
                begin(key, number: id, QueueSlot(context.queue, lane: call.exchangeLane)) { progress throws(APIError) in
                    try await exchange.send(request, progress: progress)
                } isActive: {
                    context.loads.containsAny(of: $0)
                }
            }
            return nil
        } remove: {
            leave(key, id)
        }
        return try outcome.get()
    }

    private func begin(
        _ key: SharedExchange.Key,
        number: RequestID,
        _ slot: QueueSlot,
        send: @escaping @Sendable (@escaping TransferProgress.Handler) async throws(APIError) -> APIResponse,
        isActive: @escaping @Sendable (Set<RequestID>) -> Bool
    ) {
        let task = Task {
            var slot = slot
            let outcome: SharedExchange.Outcome
            do throws(APIError) {
                try await slot.acquire()
                defer { slot.release() }
                admit(key, number)
                guard !removeIfCancelled(key, number, isActive) else { throw APIError(.cancelled) }
                outcome = .success(try await send { self.report($0, key, number) })
            } catch {
                outcome = .failure(error)
            }
            remove(key, number)?.resumeAll(returning: outcome)
        }
        let isCurrent = exchanges.withLock { $0[key]?.setTask(task, of: number) }
        if isCurrent != true { task.cancel() }
    }

    /// Adds a load.
    ///
    /// - Returns: Whether it is the first and has to begin the exchange.
    private func join(_ key: SharedExchange.Key, as id: RequestID, _ member: SharedExchange.Member) -> Bool {
        let (isFirst, isAdmitted) = exchanges.withLock { exchanges in
            let isFirst = exchanges[key] == nil
            var shared = exchanges.removeValue(forKey: key) ?? SharedExchange(number: id)
            shared.members[id] = member
            exchanges[key] = shared
            return (isFirst, shared.isAdmitted)
        }
        if isAdmitted { member.turn?.open() }
        return isFirst
    }

    /// Signals the turn of all loads that share an exchange, and of those that join it later.
    private func admit(_ key: SharedExchange.Key, _ number: RequestID) {
        let turns = exchanges.take { exchanges -> [TurnSignal] in
            guard exchanges[key]?.number == number else { return [] }
            exchanges[key]?.isAdmitted = true
            return exchanges[key]?.members.values.compactMap(\.turn) ?? []
        }
        for turn in turns { turn.open() }
    }

    /// Removes an exchange all of whose loads have been cancelled, so that no load joins it.
    ///
    /// - Returns: Whether the exchange is not to be sent.
    private func removeIfCancelled(
        _ key: SharedExchange.Key,
        _ number: RequestID,
        _ isActive: (Set<RequestID>) -> Bool
    ) -> Bool {
        while true {
            guard let members = members(of: key, number) else { return true }
            if isActive(members) { return false }
            let shared = exchanges.take { exchanges -> SharedExchange? in
                // A load that has joined meanwhile may be active.
                guard let shared = exchanges[key], shared.number == number, Set(shared.members.keys) == members else {
                    return nil
                }
                return exchanges.removeValue(forKey: key)
            }
            guard let shared else { continue }
            shared.resumeAll(returning: .failure(APIError(.cancelled)))
            return true
        }
    }

    private func members(of key: SharedExchange.Key, _ number: RequestID) -> Set<RequestID>? {
        exchanges.withLock { exchanges in
            guard let shared = exchanges[key], shared.number == number else { return nil }
            return Set(shared.members.keys)
        }
    }

    private func report(_ progress: TransferProgress, _ key: SharedExchange.Key, _ number: RequestID) {
        let shared = exchanges.take { $0[key] }
        guard let shared, shared.number == number else { return }
        for member in shared.members.values { member.progress?(progress) }
    }

    private func remove(_ key: SharedExchange.Key, _ number: RequestID) -> SharedExchange? {
        exchanges.take { exchanges in
            exchanges[key]?.number == number ? exchanges.removeValue(forKey: key) : nil
        }
    }

    /// Removes one load; the exchange ends with the last.
    private func leave(_ key: SharedExchange.Key, _ id: RequestID) -> SharedExchange.Waiter? {
        let (member, abandoned) = exchanges.take { exchanges -> (SharedExchange.Member?, SharedExchange?) in
            let member = exchanges[key]?.members.removeValue(forKey: id)
            guard member != nil, exchanges[key]?.members.isEmpty == true else { return (member, nil) }
            return (member, exchanges.removeValue(forKey: key))
        }
        abandoned?.task?.cancel()
        return member?.waiter
    }
}

/// One exchange that several loads share.
private struct SharedExchange {
    typealias Outcome = Result<APIResponse, APIError>
    typealias Waiter = CheckedContinuation<Outcome, Never>

    /// What makes loads the same: all that is sent, the login that it is sent with, and how the answer is read.
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
        let cookies: ObjectIdentifier
        let generation: Int
        let isLoginRequest: Bool

        init<Value>(_ request: HTTPRequest, of call: APICall<Value>, in generation: Int) {
            method = request.method
            url = request.url.absoluteString
            headers = request.headers.map { "\($0.name):\($0.value)" }
            body = request.body
            timeout = request.timeout
            deadline = request.deadline
            limits = request.limits
            redirectLimit = request.redirectPolicy.isFollowing ? request.redirectPolicy.limit : nil
            login = ObjectIdentifier(call.service.login)
            cookies = ObjectIdentifier(call.cookies)
            self.generation = generation
            // One of a relogin does not queue, and must not wait for one that does.
            isLoginRequest = call.loginRole.isLoginRequest
        }
    }

    /// One load that takes part.
    struct Member {
        let waiter: Waiter
        let progress: TransferProgress.Handler?
        let turn: TurnSignal?
    }

    /// Distinguishes it from a later exchange for the same.
    let number: RequestID
    var members: [RequestID: Member] = [:]
    var task: Task<Void, Never>?
    /// Whether it has left the queue.
    var isAdmitted = false

    init(number: RequestID) {
        self.number = number
    }

    mutating func setTask(_ task: Task<Void, Never>, of number: RequestID) -> Bool {
        guard self.number == number else { return false }
        self.task = task
        return true
    }

    func resumeAll(returning outcome: Outcome) {
        for member in members.values { member.waiter.resume(returning: outcome) }
    }
}
