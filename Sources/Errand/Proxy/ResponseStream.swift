import Foundation

/// What a load does with a response that streams; used by one task at a time, except for ``begin(status:headers:)``.
protocol StreamHandler: AnyObject, Sendable {
    var expectation: HTTPBodyExpectation { get }
    /// Makes a request that of the next connection.
    func prepare(_ request: inout HTTPRequest)
    /// Called by the transport with each response; returns whether it is the stream.
    func begin(status: Int, headers: HTTPHeaders) throws(TransportError) -> Bool
    /// Returns when the elements of these bytes are delivered; `isLast` is for the end of a response that is complete.
    func receive(_ bytes: [UInt8], isLast: Bool) async throws(APIError)
    /// Returns how long the load waits before it connects again; `nil` if it does not. `error` is why the connection ended.
    func reconnectionDelay(after error: APIError?) -> Duration?
    /// Whether a load that does not connect again ends, and neither a relogin nor a retry has it sent again.
    var isDecided: Bool { get }
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
        if Task.isCancelled { empty { $0.isClosed = true } }
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
        while true {
            // With nothing left, the next bytes begin another drain.
            let bytes = empty { if $0.bytes.isEmpty { $0.drain = nil } }
            guard !bytes.isEmpty else { return }
            do throws(APIError) {
                try await handler.receive(bytes, isLast: false)
            } catch {
                empty { ($0.isClosed, $0.failure) = (true, error) }
                didFail()
            }
        }
    }

    /// Returns the bytes that there were, for which there is room again.
    @discardableResult private func empty(_ change: (inout State) -> Void) -> [UInt8] {
        let former = state.withLock { state in
            change(&state)
            let former = state
            (state.bytes, state.ready) = ([], nil)
            return former
        }
        former.ready?()
        return former.bytes
    }
}
