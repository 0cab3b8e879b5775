/// A server's event loop, on one thread: waits for sockets, timers and messages, and plays the responses.
final class EventLoop {
    private static let scratchSize = 256 << 10
    private static let acceptsPerTurn = 128
    private static let acceptPause = Duration.milliseconds(20)
    private static let inboxToken = 0

    private let poller: Poller
    private let inbox: Inbox
    private let context: ServerContext
    private var listeners: [Listener] = []
    private var connections: [Int: Connection] = [:]
    private var timers = TimerQueue()
    private var lastNumber = 0
    private var deadline: ContinuousClock.Instant?
    /// Whether connections are to be accepted while descriptors are available.
    private var isAccepting = true
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: scratchSize, alignment: 16)

    init(poller: Poller, inbox: Inbox, context: ServerContext) {
        self.poller = poller
        self.inbox = inbox
        self.context = context
    }

    deinit { scratch.deallocate() }

    /// Runs until a ``Inbox/Message/stop(grace:)`` message.
    func run() {
        poller.watch(inbox.number, token: Self.inboxToken, for: .readable)
        while !isFinished {
            poller.wait(milliseconds: pollTimeout) { handle(token: $0, $1) }
            fireTimers()
        }
        inbox.close()
        for connection in connections.values { forget(connection) }
    }

    private var isFinished: Bool {
        guard let deadline else { return false }
        return connections.isEmpty || deadline <= .now
    }

    private var pollTimeout: Int32 {
        guard let next = [timers.nextDeadline, deadline].compactMap({ $0 }).min() else { return -1 }
        let (seconds, attoseconds) = ContinuousClock.now.duration(to: next).components
        // Rounded up, because the loop would otherwise poll without a pause in the last millisecond.
        let milliseconds = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return Int32(clamping: max(0, min(seconds, 1_000_000) * 1000 + milliseconds))
    }

    private func handle(token: Int, _ readiness: Readiness) {
        if token > Self.inboxToken {
            guard let connection = connections[token] else { return }
            handle(connection, readiness)
        } else if token == Self.inboxToken {
            for message in inbox.drain() { handle(message) }
        } else {
            accept(listener: -token - 1)
        }
    }

    private static func token(ofListener index: Int) -> Int { -1 - index }

    // MARK: Connections

    private func accept(listener index: Int) {
        guard listeners.indices.contains(index) else { return }
        for _ in 0..<Self.acceptsPerTurn {
            switch listeners[index].accept() {
            case .connection(let descriptor):
                open(descriptor)
            case .outOfDescriptors:
                watchListeners(false)
                timers.add(.acceptAgain, at: .now + Self.acceptPause)
                return
            case .none:
                return
            }
        }
    }

    private func open(_ descriptor: consuming Descriptor) {
        lastNumber += 1
        let connection = Connection(descriptor, number: lastNumber, context: context)
        connections[lastNumber] = connection
        context.requestLog.connectionOpened()
        poller.watch(connection.descriptor, token: lastNumber, for: connection.interest.union(.hangUp))
        update(connection, waiting: connection.start())
    }

    private func handle(_ connection: Connection, _ readiness: Readiness) {
        if readiness.contains(.readable) {
            update(connection, waiting: connection.receive(into: scratch))
        } else if readiness.contains(.hangUp) {
            update(connection, waiting: .closed)
        }
        guard readiness.contains(.writable), connections[connection.number] != nil,
            connection.interest.contains(.writable)
        else { return }
        update(connection, waiting: connection.writable())
    }

    private func resume(_ number: Int, waitGeneration: Int) {
        guard let connection = connections[number], connection.waitGeneration == waitGeneration else { return }
        update(connection, waiting: connection.resume())
    }

    private func update(_ connection: Connection, waiting wait: Connection.Wait?) {
        if case .closed = wait { return forget(connection) }
        if deadline != nil, connection.isIdle { return forget(connection) }
        if let wait { scheduleWait(wait, connection) }
        let interest = connection.wantedInterest
        guard interest != connection.interest else { return }
        connection.interest = interest
        poller.rewatch(connection.descriptor, token: connection.number, for: interest.union(.hangUp))
    }

    private func scheduleWait(_ wait: Connection.Wait, _ connection: Connection) {
        connection.waitGeneration += 1
        let (number, waitGeneration) = (connection.number, connection.waitGeneration)
        switch wait {
        case .input, .output, .closed:
            break
        case .idle(let duration), .pause(let duration), .linger(let duration):
            timers.add(.resume(connection: number, waitGeneration: waitGeneration), at: .now + duration)
        case .gate(let gate):
            gate.whenOpen { [inbox] in inbox.post(.resume(connection: number, waitGeneration: waitGeneration)) }
        }
    }

    private func forget(_ connection: Connection) {
        guard connections.removeValue(forKey: connection.number) != nil else { return }
        context.requestLog.connectionClosed()
    }

    // MARK: Timers and messages

    private func fireTimers() {
        guard timers.nextDeadline != nil else { return }
        let now = ContinuousClock.now
        while let action = timers.popDue(at: now) {
            switch action {
            case .resume(let number, let waitGeneration): resume(number, waitGeneration: waitGeneration)
            case .run(let action): action()
            case .acceptAgain: watchListeners(isAccepting)
            }
        }
    }

    private func handle(_ message: Inbox.Message) {
        switch message {
        case .listen(let listeners): listen(listeners)
        case .resume(let number, let waitGeneration): resume(number, waitGeneration: waitGeneration)
        case .run(let delay, let action): timers.add(.run(action), at: .now + delay)
        case .setAccepting(let accepts): setAccepting(accepts)
        case .stop(let grace): stop(grace: grace)
        }
    }

    private func listen(_ listeners: [Listener]) {
        self.listeners = listeners
        for (index, listener) in listeners.enumerated() {
            poller.watch(listener.number, token: Self.token(ofListener: index), for: .readable)
        }
    }

    private func setAccepting(_ accepts: Bool) {
        isAccepting = accepts
        watchListeners(accepts)
    }

    private func watchListeners(_ accepts: Bool) {
        for (index, listener) in listeners.enumerated() {
            poller.rewatch(listener.number, token: Self.token(ofListener: index), for: accepts ? .readable : [])
        }
    }

    private func stop(grace: Duration) {
        deadline = .now + grace
        listeners = []
        for connection in connections.values where connection.isIdle { forget(connection) }
    }
}

/// Actions by their deadlines, earliest first; a binary heap.
struct TimerQueue {
    enum Action {
        /// Resumes a connection if its waitGeneration has not changed since.
        case resume(connection: Int, waitGeneration: Int)
        case run(@Sendable () -> Void)
        /// Accepts connections again.
        case acceptAgain
    }

    private var heap: [(deadline: ContinuousClock.Instant, action: Action)] = []

    /// The earliest deadline; `nil` when there are no actions.
    var nextDeadline: ContinuousClock.Instant? { heap.first?.deadline }

    mutating func add(_ action: Action, at deadline: ContinuousClock.Instant) {
        heap.append((deadline, action))
        var child = heap.count - 1
        while child > 0, heap[child].deadline < heap[(child - 1) / 2].deadline {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes and returns the next action that is due at `now`; `nil` when none is.
    mutating func popDue(at now: ContinuousClock.Instant) -> Action? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        sink()
        return first.action
    }

    private mutating func sink() {
        var parent = 0
        while let child = earlierChild(of: parent), heap[child].deadline < heap[parent].deadline {
            heap.swapAt(child, parent)
            parent = child
        }
    }

    private func earlierChild(of parent: Int) -> Int? {
        let left = 2 * parent + 1
        let right = left + 1
        guard left < heap.count else { return nil }
        return right < heap.count && heap[right].deadline < heap[left].deadline ? right : left
    }
}
