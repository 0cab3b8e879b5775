/// How far a transfer is, and how fast, for ``APIProxy/activeRequests``.
final class TransferMeter: Sendable {
    private struct Mark {
        let uptime: Duration
        let bytes: Int64
    }

    private struct State {
        var progress: TransferProgress?
        /// The rate is that since `start`, which is a second or more before the newest report.
        var (start, latest): (Mark?, Mark?) = (nil, nil)
    }

    private static let interval = Duration.seconds(1)

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
        let mark = Mark(uptime: clock.uptime, bytes: progress.completedBytes)
        state.withLock { state in
            let isNew = state.progress?.direction != progress.direction || state.progress?.attempt != progress.attempt
            state.progress = progress
            guard !isNew, let latest = state.latest else { return (state.start, state.latest) = (mark, mark) }
            if mark.uptime - latest.uptime >= Self.interval { (state.start, state.latest) = (latest, mark) }
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

extension HTTPBody {
    fileprivate var isInMemory: Bool { pieces.allSatisfy { if case .data = $0 { true } else { false } } }
}
