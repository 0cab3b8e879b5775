/// How far a transfer is, and how fast, for ``APIProxy/activeRequests``.
final class TransferMeter: Sendable {
    private struct Mark {
        let uptime: Duration
        let bytes: Int64
    }

    private struct State {
        var progress: TransferProgress?
        /// The rate is that since the first one, which is one to two seconds old.
        var marks: [Mark] = []
    }

    private static let interval = Duration.seconds(1)

    let kind: ActiveRequest.Kind
    private let clock: any APIClock
    private let state = Lock(State())

    init(_ kind: ActiveRequest.Kind, clock: any APIClock) { (self.kind, self.clock) = (kind, clock) }

    var progress: TransferProgress? { state.withLock(\.progress) }

    /// Falls while nothing is transferred.
    var bytesPerSecond: Double? {
        let (now, state) = (clock.uptime, state.withLock(\.self))
        guard let start = state.marks.first, let progress = state.progress, now > start.uptime else { return nil }
        return Double(progress.completedBytes - start.bytes) / ((now - start.uptime) / .seconds(1))
    }

    func record(_ progress: TransferProgress) {
        let mark = Mark(uptime: clock.uptime, bytes: progress.completedBytes)
        state.withLock { state in
            if state.progress?.direction != progress.direction || state.progress?.attempt != progress.attempt {
                state.marks = []
            }
            state.progress = progress
            guard let last = state.marks.last else { return state.marks = [mark] }
            if mark.uptime - last.uptime >= Self.interval { state.marks = [last, mark] }
        }
    }
}

extension RequestDraft {
    /// Without the one of a response that streams.
    var kind: ActiveRequest.Kind {
        if case .request(let request, _) = replacement {
            guard request.destination == .memory else { return .download }
            return request.body.pieces.contains { if case .data = $0 { false } else { true } } ? .upload : .data
        }
        return destination != .memory ? .download : form != nil ? .upload : .data
    }
}
