import Foundation

/// One exchange that several loads share.
struct SharedExchange {
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
        let id: RequestID
        let waiter: Waiter
        let progress: TransferProgress.Handler?
        let trace: LoadTrace?
        /// Signals that the load waits in the queue.
        let didQueue: @Sendable () -> Void
        /// Signals that the load has its turn.
        let begin: @Sendable () -> Void

        init<Value>(
            of call: APICall<Value>,
            progress: TransferProgress.Handler?,
            waiter: Waiter,
            didQueue: @escaping @Sendable () -> Void,
            begin: @escaping @Sendable () -> Void
        ) {
            (id, trace) = (call.id, call.trace)
            self.progress = progress
            self.waiter = waiter
            (self.didQueue, self.begin) = (didQueue, begin)
        }
    }

    /// How far the exchange is.
    enum Stage {
        case begun, queued, admitted
    }

    /// The ID of its first load, which distinguishes it from a later exchange with the same key.
    let number: RequestID
    var members: [RequestID: Member] = [:]
    var task: Task<Void, Never>?
    /// Whether the exchange has only begun, waits in the queue, or was admitted.
    var stage = Stage.begun
    /// Emits the events of the exchange.
    let trace: ExchangeTrace

    init(number: RequestID, _ trace: ExchangeTrace) {
        self.number = number
        self.trace = trace
    }

    mutating func setTask(_ task: Task<Void, Never>, of number: RequestID) -> Bool {
        guard self.number == number else { return false }
        self.task = task
        return true
    }

    /// Emits the outcome and resumes the loads; called after the exchange was removed, so that no other load joins it.
    func end(with outcome: Outcome) {
        trace.end(with: outcome, of: members.values.compactMap(\.trace))
        resumeAll(returning: outcome)
    }

    func resumeAll(returning outcome: Outcome) {
        for member in members.values { member.waiter.resume(returning: outcome) }
    }
}
