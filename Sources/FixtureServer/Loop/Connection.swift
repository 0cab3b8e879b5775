/// The values that all connections of a server share.
struct ServerContext: Sendable {
    let options: ServerOptions
    let plan: Script.Plan
    let requestLog: RequestLog
}

/// One connection: its input, its output and what it waits for.
///
/// Used on the loop's thread only.
final class Connection {
    enum Wait {
        /// More bytes from the client, or the end of the stream.
        case input
        /// Room in the socket's send buffer.
        case output
        /// More bytes from the client, for this long at most.
        case idle(Duration)
        case pause(Duration)
        case gate(Gate)
        /// The client's FIN after the server's, for this long at most.
        case linger(Duration)
        /// Nothing: the connection has ended.
        case closed
    }

    private static let inputLimit = 1 << 20
    /// A client that reads as fast as the server sends must not delay the others.
    private static let stepsPerTurn = 32
    private static let lingering = Duration.seconds(2)

    /// The number of the connection on its server, counted from 1.
    let number: Int
    /// The readiness that the poller watches for; compared with ``wantedInterest``.
    var interest: Readiness = .readable
    /// Changes with every wait, so that a late timer or gate can be recognized.
    var waitGeneration = 0

    private let socket: StreamSocket
    private let context: ServerContext
    private var input = InputBuffer()
    private var output = OutputBuffer()
    private var assembler: RequestAssembler
    private var player: ResponseWriter?
    private var script = Script.onAccept()
    private var turn = 0
    private var keepsAlive = true
    private var hasResponded = false
    private var isLingering = false
    private var isBlocked = false

    init(_ descriptor: consuming Descriptor, number: Int, context: ServerContext) {
        socket = StreamSocket(descriptor)
        self.number = number
        self.context = context
        assembler = RequestAssembler(headLimit: context.options.headLimit)
    }

    /// The descriptor, for the poller.
    var descriptor: Int32 { socket.number }

    /// The readiness that the poller should watch for.
    var wantedInterest: Readiness {
        let readsInput = isLingering || !assembler.isPaused && (player == nil || input.count < Self.inputLimit)
        let readable: Readiness = readsInput ? .readable : []
        return isBlocked ? readable.union(.writable) : readable
    }

    /// Whether no byte of a request is unread and no response is under way.
    var isIdle: Bool { player == nil && !assembler.isInsideBody && input.count == 0 }

    /// Begins the first turn, and returns what the connection waits for.
    func start() -> Wait {
        beginTurn() ?? run()
    }

    /// Reads from the socket and continues; returns `nil` when the connection still waits for the same as before.
    func receive(into scratch: UnsafeMutableRawBufferPointer) -> Wait? {
        switch socket.receive(into: scratch) {
        case .ended:
            return .closed
        case .wouldBlock:
            return nil
        case .moved(let count):
            guard !isLingering else { return nil }
            input.append(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
            return player == nil ? run() : nil
        }
    }

    /// Continues after the socket has room.
    func writable() -> Wait {
        run()
    }

    /// Continues after a pause or a gate, or ends after an idle or a lingering time.
    func resume() -> Wait {
        if isLingering { return .closed }
        return player == nil && isIdle ? finishSending() : run()
    }

    private func run() -> Wait {
        isBlocked = false
        for _ in 0..<Self.stepsPerTurn {
            if let wait = player == nil ? read() : play() { return wait }
        }
        isBlocked = true
        return .output
    }

    // MARK: Reading

    private func beginTurn() -> Wait? {
        turn += 1
        hasResponded = false
        guard let script = context.plan(number, turn) else { return finishSending() }
        self.script = script
        guard case .onAccept(let response) = script else { return nil }
        keepsAlive = false
        player = ResponseWriter(response, isBodyless: false)
        return nil
    }

    private func read() -> Wait? {
        do throws(MalformedRequest) {
            switch try assembler.advance(&input) {
            case .incomplete: return waitForInput()
            case .paused(let gate): return .gate(gate)
            case .head(let head): return take(head)
            case .complete(let request): return take(request)
            }
        } catch {
            keepsAlive = false
            player = ResponseWriter(.text(error.reason, status: error.status).closing(), isBodyless: false)
            return nil
        }
    }

    private func waitForInput() -> Wait {
        guard let limit = context.options.keepAliveTimeout, !assembler.isInsideBody, turn > 1 else { return .input }
        return .idle(limit)
    }

    private func take(_ head: RequestHead) -> Wait? {
        let request = RecordedRequest(head: head, connection: number, turn: turn)
        if case .onHead(let handler) = script {
            assembler.begin(request, handling: .discard)
            hasResponded = true
            respond(to: request, handler)
            return nil
        }
        assembler.begin(request, handling: context.options.bodyHandling(head))
        guard head.expectsContinue, context.options.sendsContinue else { return nil }
        output.append(Self.continueLine)
        return output.flush(to: socket) == .lost ? .closed : nil
    }

    private func take(_ request: RecordedRequest) -> Wait? {
        guard !hasResponded, case .onRequest(let handler) = script else { return beginTurn() }
        respond(to: request, handler)
        return nil
    }

    // MARK: Responding

    private func respond(to request: RecordedRequest, _ handler: Script.Handler) {
        context.requestLog.record(request)
        keepsAlive = request.head.keepsAlive
        player = ResponseWriter(handler(request).suiting(request.head), isBodyless: request.head.isHEAD)
    }

    private func play() -> Wait? {
        guard let pause = player?.fill(&output) else { return nil }
        switch output.flush(to: socket) {
        case .done:
            return act(on: pause)
        case .lost:
            return .closed
        case .blocked:
            isBlocked = true
            return .output
        }
    }

    private func act(on pause: ResponseWriter.Pause) -> Wait? {
        switch pause {
        case .flush:
            return nil
        case .wait(let duration):
            return .pause(duration)
        case .pass(let gate):
            return .gate(gate)
        case .open(let gate):
            gate.open()
            return nil
        case .hang:
            return .input
        case .close:
            return finishSending()
        case .reset:
            socket.armReset()
            return .closed
        case .finished:
            return endTurn()
        }
    }

    private func endTurn() -> Wait? {
        player = nil
        guard keepsAlive else { return finishSending() }
        return hasResponded ? nil : beginTurn()
    }

    private func finishSending() -> Wait {
        player = nil
        isLingering = true
        input.removeAll()
        socket.finishSending()
        return .linger(Self.lingering)
    }

    private static let continueLine = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
}

extension Response {
    /// Returns this response with the `Connection` line that `head` requires.
    fileprivate func suiting(_ head: RequestHead) -> Response {
        if head.keepsAlive { return head.isHTTP10 ? adding("Connection", "keep-alive") : self }
        return adding("Connection", "close")
    }
}

/// When the server starts to respond in one turn of a connection, and its response.
package enum Script: Sendable {
    /// A function that responds to a request.
    package typealias Handler = @Sendable (RecordedRequest) -> Response
    /// A function that chooses the script of a turn; both numbers count from 1, and `nil` ends the connection with FIN.
    package typealias Plan = @Sendable (_ connection: Int, _ turn: Int) -> Script?

    /// Plays at once, without a request; what the client sends is not parsed.
    case onAccept(Response)
    /// Responds when the request's head has arrived; the body is read and discarded after the response.
    case onHead(Handler)
    /// Responds when the whole request has arrived.
    case onRequest(Handler)

    /// Plays these steps at once.
    package static func onAccept(_ steps: Response.Step...) -> Script { .onAccept(Response(steps: steps)) }

    /// Plays these steps when the request's head has arrived.
    package static func onHead(_ steps: Response.Step...) -> Script {
        let response = Response(steps: steps)
        return .onHead { _ in response }
    }

    /// Plays these steps when the whole request has arrived.
    package static func onRequest(_ steps: Response.Step...) -> Script {
        let response = Response(steps: steps)
        return .onRequest { _ in response }
    }
}
