import Foundation

/// What a load does with a response that streams; used by one task at a time, except for ``begin(status:headers:)``.
protocol StreamHandler: AnyObject, Sendable {
    var expectation: HTTPBodyExpectation { get }
    /// The request of the next connection.
    func prepare(_ request: HTTPRequest) -> HTTPRequest
    /// Called by the transport with each response; returns whether it is the stream.
    func begin(status: Int, headers: HTTPHeaders) throws(TransportError) -> Bool
    /// Returns when the elements of these bytes are delivered; `isLast` is for the end of a response that is complete.
    func receive(_ bytes: [UInt8], isLast: Bool) async throws(APIError)
    /// How the load continues after a connection; `error` is why the connection ended.
    func nextStep(after error: APIError?) -> StreamStep
}

enum StreamStep {
    /// It ends, with success or with the error.
    case end
    /// It ends, or is treated as one that has received nothing: by a relogin or a retry.
    case recover
    case reconnect(after: Duration)
}

/// Keeps the bytes of a response that the handler has not taken; at most a window, and what a transport passes at a time.
final class ResponseStream: HTTPBodyReceiver {
    /// In bytes; the handler has one half at a time, while the other one waits.
    static let window = 256 << 10
    /// In bytes; more would be kept only of a transport that does not wait, as Foundation's on Linux.
    private static let limit = 16 << 20

    private struct State {
        var bytes: [UInt8] = []
        /// Passes the bytes on, while there are some.
        var drain: Task<Void, Never>?
        var isClosed = false
        /// Why it was closed, if the handler cannot read on.
        var failure: APIError?
        var ready: (@Sendable () -> Void)?
    }

    private let handler: any StreamHandler
    private let didBegin: @Sendable () -> Void
    private let didFail: @Sendable () -> Void
    private let state = Lock(State())

    /// `didBegin` is called when the response is the stream, and `didFail` when the handler cannot read on: it ends the exchange,
    /// because the server may send nothing more.
    init(
        for handler: any StreamHandler,
        didBegin: @escaping @Sendable () -> Void,
        didFail: @escaping @Sendable () -> Void
    ) {
        (self.handler, self.didBegin, self.didFail) = (handler, didBegin, didFail)
    }

    var expectation: HTTPBodyExpectation { handler.expectation }

    /// Called when the exchange has ended; returns when all elements are delivered, also before an error, and takes nothing more.
    ///
    /// Throws why the handler could not take them.
    func end<Value>(with result: Result<Value, APIError>) async throws(APIError) -> Value {
        if Task.isCancelled { close() }
        while let drain = state.withLock({ state in
            state.isClosed = state.isClosed || state.drain == nil
            return state.drain
        }) { await drain.value }
        if let failure = state.withLock(\.failure) { throw failure }
        let value = try result.get()
        try await handler.receive([], isLast: true)
        return value
    }

    func begin(status: Int, headers: HTTPHeaders) throws(TransportError) -> Bool {
        // A transport may deliver it late.
        guard !state.withLock(\.isClosed) else { throw TransportError(.cancelled, "the load has left the stream") }
        guard try handler.begin(status: status, headers: headers) else { return false }
        didBegin()
        return true
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(TransportError) {
        try state.withLock { state throws(TransportError) in
            guard !state.isClosed else {
                let failure = state.failure ?? APIError(.cancelled)
                throw TransportError(.badResponse, "its elements could not be read", underlying: failure)
            }
            guard state.bytes.count < Self.limit else {
                throw TransportError(.responseTooLarge, "the app takes it more slowly than the transport delivers it")
            }
            state.bytes += bytes
            // Started when there is something to do, because most streams are silent most of the time.
            state.drain = state.drain ?? Task { await drain() }
        }
    }

    func hasRoom(orCall ready: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard !state.isClosed, state.bytes.count >= Self.window / 2 else { return true }
            state.ready = ready
            return false
        }
    }

    private func drain() async {
        while let bytes = take() {
            do throws(APIError) {
                try await handler.receive(bytes, isLast: false)
            } catch {
                close(with: error)
            }
        }
    }

    /// Returns `nil` when there is nothing left; the next bytes begin another drain.
    private func take() -> [UInt8]? {
        let former = state.withLock { state in
            let former = state
            if state.bytes.isEmpty { state.drain = nil }
            (state.bytes, state.ready) = ([], nil)
            return former
        }
        former.ready?()
        return former.bytes.isEmpty ? nil : former.bytes
    }

    /// Discards what has not been taken.
    private func close(with failure: APIError? = nil) {
        let former = state.withLock { state in
            let former = state
            (state.isClosed, state.bytes, state.ready) = (true, [], nil)
            state.failure = state.failure ?? failure
            return former
        }
        former.ready?()
        if failure != nil { didFail() }
    }
}
