/// A load that has begun and has not ended, for inspection.
public struct ActiveRequest: Sendable, Identifiable {
    /// What a load transfers.
    public enum Kind: Sendable {
        /// A response in memory.
        case data
        /// A multipart form, or a body with a file or a stream; not one that a custom serializer makes.
        case upload
        /// A response in a file.
        case download
        /// A response that streams.
        case stream
    }

    /// The load's ID.
    public let id: RequestID
    /// The request method.
    public let method: HTTPMethod
    /// The path with `{name}` for its parameters; for a plain call the URL without user, password, query and fragment.
    public let path: String
    /// What the load transfers.
    public let kind: Kind
    /// The priority of the load; see ``APIProxy/setPriority(_:of:)``.
    public let priority: RequestPriority
    /// Whether the load waits for its first turn.
    public let isQueued: Bool
    /// How much is transferred; `nil` for `data`, and before the first bytes.
    public let progress: TransferProgress?
    /// The mean rate of the last seconds, which falls while nothing is transferred; `nil` before there is one.
    public let bytesPerSecond: Double?
    /// Whether ``APIProxy/pauseRequest(_:)`` would pause the load.
    public let canPause: Bool
}

/// How far a transfer is, and how fast, for ``APIProxy/activeRequests``.
final class TransferMeter: Sendable {
    private typealias Mark = (uptime: Duration, bytes: Int64)

    private struct State {
        var progress: TransferProgress?
        /// The rate is that since `start`, which is a second or more before the newest report.
        var (start, latest): (Mark?, Mark?) = (nil, nil)
    }

    let kind: ActiveRequest.Kind
    /// Whether a later load may continue the transfer.
    let resumes: Bool
    private let clock: any APIClock
    private let state = Lock(State())

    init(_ kind: ActiveRequest.Kind, resumes: Bool, clock: any APIClock) {
        (self.kind, self.resumes, self.clock) = (kind, resumes, clock)
    }

    var progress: TransferProgress? { state.withLock(\.progress) }

    /// Falls while nothing is transferred.
    var bytesPerSecond: Double? {
        let (now, state) = (clock.uptime, state.withLock(\.self))
        guard let start = state.start, let progress = state.progress, now > start.uptime else { return nil }
        return Double(progress.completedBytes - start.bytes) / ((now - start.uptime) / .seconds(1))
    }

    func record(_ progress: TransferProgress) {
        let mark = (uptime: clock.uptime, bytes: progress.completedBytes)
        state.withLock { state in
            let former = state.progress
            // An upload also begins anew after a redirect, or when its connection was lost.
            let isNew =
                former?.direction != progress.direction || former?.attempt != progress.attempt
                || progress.completedBytes < former?.completedBytes ?? 0
            state.progress = progress
            guard !isNew, let latest = state.latest else { return (state.start, state.latest) = (mark, mark) }
            if mark.uptime - latest.uptime >= .seconds(1) { (state.start, state.latest) = (latest, mark) }
        }
    }
}

extension RequestDraft {
    /// Without the one of a response that streams.
    var kind: ActiveRequest.Kind {
        if case .request(let request, _) = replacement {
            guard request.destination == .memory else { return .download }
            return request.body.isInMemory ? .data : .upload
        }
        guard destination == .memory else { return .download }
        if case .raw(let body, _) = serializer.format, !body.isInMemory { return .upload }
        return form != nil ? .upload : .data
    }
}
