import Foundation

/// One exchange under way for several loads that ask for the same.
struct SharedExchange {
    typealias Outcome = Result<APIResponse, APIError>
    typealias Waiter = CheckedContinuation<Outcome, Never>

    /// What makes loads the same: all that goes to the wire, the login that it goes with, and how the answer is read.
    struct Key: Hashable {
        let method: HTTPMethod
        let url: String
        let headers: [String]
        let body: HTTPBody
        let timeout: Duration?
        let deadline: Duration?
        let limits: HTTPLimits
        let session: ObjectIdentifier
        let cookies: ObjectIdentifier?
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
            session = call.service.session
            cookies = call.service.cookies.map(ObjectIdentifier.init)
            self.generation = generation
            // One of a relogin does not queue, and must not wait for one that does.
            isLoginRequest = call.loginRole.isLoginRequest
        }
    }

    /// One load that takes part.
    struct Member {
        let waiter: Waiter
        let progress: TransferProgress.Handler?
    }

    /// Tells it from a later exchange for the same.
    let number: RequestID
    var members: [RequestID: Member]
    var task: Task<Void, Never>?
}
