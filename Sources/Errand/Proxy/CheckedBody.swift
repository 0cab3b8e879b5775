import Foundation

/// A body in memory that is refused as soon as its beginning is.
final class CheckedBody: HTTPBodyReceiver {
    /// Says why; of its own type, because an error of a transport or of a stream to send may have any other underneath.
    struct Refusal: Error {
        let error: APIError
    }

    private static let reserveLimit = 1 << 20

    private struct State {
        var data = Data()
        /// The number of bytes from which on the check is called.
        var next: Int? = 1
    }

    private let limit: Int
    private let check: BodyCheck
    private let state = Lock(State())

    init(limit: Int, _ check: @escaping BodyCheck) { (self.limit, self.check) = (limit, check) }

    var expectation: HTTPBodyExpectation { .large }

    func begin(status: Int, headers: HTTPHeaders) throws(TransportError) -> Bool {
        // A part does not begin with the beginning.
        guard (200..<300).contains(status), status != 206 else { return false }
        let length = headers["Content-Length"].flatMap { Int($0) } ?? 0
        let isCoded = headers["Content-Encoding"] != nil
        guard isCoded || length <= limit else { throw TransportError(tooLargeBody: limit) }
        state.withLock { state in
            state = State()
            if !isCoded { state.data.reserveCapacity(max(0, min(length, Self.reserveLimit))) }
        }
        return true
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(TransportError) {
        try state.withLock { state throws(TransportError) in
            guard bytes.count <= limit - state.data.count else { throw TransportError(tooLargeBody: limit) }
            state.data.append(contentsOf: bytes)
            guard let next = state.next, state.data.count >= next else { return }
            do throws(APIError) {
                state.next = try state.data.withBytes(check)
            } catch {
                let refusal = Refusal(error: error)
                throw TransportError(.badResponse, "the beginning of the body was refused", underlying: refusal)
            }
        }
    }

    /// Returns a response with the body that this object has received, if the transport has passed it on.
    func completing(_ response: HTTPResponse) -> HTTPResponse {
        guard response.isStreamed else { return response }
        var response = response
        (response.body, response.isStreamed) = (state.withLock(\.data), false)
        return response
    }
}
