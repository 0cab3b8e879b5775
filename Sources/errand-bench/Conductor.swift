import Errand
import Foundation

/// Starts the server and the workers, and runs the workers in turns.
final class Conductor {
    private let plan: Plan
    private let server: Child
    private let address: String

    init(_ plan: Plan) throws {
        self.plan = plan
        server = try Child(["serve"])
        address = String(decoding: try server.readLine(), as: UTF8.self)
    }

    /// Measures every row of the plan.
    func measure() throws -> [RowResult] {
        let paired = plan.rows.filter(\.isPaired)
        return try plan.concurrencies.flatMap { try measure(paired, at: $0) }
            + plan.rows.filter { !$0.isPaired }.map(measure)
    }

    /// Runs the rows in the order A B A B …, so that a disturbance of the machine affects all of them.
    private func measure(_ rows: [Row], at concurrency: Int) throws -> [RowResult] {
        let workers = try rows.map { (row: $0, child: try worker($0)) }
        var results: [RowResult] = []
        for (row, child) in workers {
            let order = Order(requests: try pace(child, concurrency), concurrency: concurrency)
            results.append(RowResult(row: row, concurrency: concurrency, order: order))
        }
        for _ in 0..<plan.rounds {
            for index in workers.indices {
                results[index].turns.append(try carryOut(results[index].order, workers[index].child))
            }
        }
        return results
    }

    /// Warms a worker up, and returns the number of requests of one turn.
    private func pace(_ child: Child, _ concurrency: Int) throws -> Int {
        let trial = Order(requests: max(200, 2 * concurrency), concurrency: concurrency)
        let speed = try carryOut(trial, child)[.requestRate] ?? 0
        return max(trial.requests, Int(speed * plan.secondsPerTurn))
    }

    private func measure(_ row: Row) throws -> RowResult {
        if [.paging, .pagingSockets].contains(row) { return try measurePaging(row) }
        var order = Order(bytes: plan.transferBytes)
        switch row {
        case .cancel, .relogin, .adapters: order.requests = plan.isQuick ? 200 : 10_000
        case .race, .monitors: order.requests = plan.isQuick ? 1_000 : 100_000
        case .queue: order.requests = plan.isQuick ? 2_000 : 200_000
        case .load: order = Order(requests: plan.isQuick ? 1_000 : 1_000_000, concurrency: 64)
        case .json: order.bytes = plan.isQuick ? 110_000 : 10_000_000
        case .events:
            order = Order(requests: 1_000_000, concurrency: 1_000, bytes: 1 << 30)
            if plan.isQuick { order = Order(requests: 10_000, concurrency: 20, bytes: 1 << 20) }
        case .resume:
            order = plan.isQuick ? Order(requests: 2, bytes: 8 << 20) : Order(requests: 200, bytes: 256 << 20)
        case .cache:
            order = Order(requests: 100_000, concurrency: 10_000, bytes: 1 << 30, kills: 200)
            if plan.isQuick { order = Order(requests: 500, concurrency: 100, bytes: 16 << 20, kills: 2) }
        case .images:
            order = Order(requests: 10_000, concurrency: 10_000, bytes: 100_000)
            if plan.isQuick { order = Order(requests: 200, concurrency: 240, bytes: 1_000) }
        case .soak: order = Order(requests: plan.soakRequests, concurrency: 64)
        default: break
        }
        return RowResult(row: row, concurrency: nil, order: order, turns: [try carryOut(order, worker(row))])
    }

    /// Runs each part in a separate process, so that no part measures the memory of another.
    private func measurePaging(_ row: Row) throws -> RowResult {
        var result = RowResult(row: row, concurrency: nil, order: Order(requests: plan.isQuick ? 30 : 1_000))
        for _ in 0..<(plan.isQuick ? 1 : plan.rounds) {
            var fields: Measurement = [:]
            for part in Paging.Part.allCases {
                var order = result.order
                order.part = part
                fields.merge(try carryOut(order, worker(row))) { $1 }
            }
            result.turns.append(fields)
        }
        return result
    }

    private func worker(_ row: Row) throws -> Child {
        try Child(["work", row.rawValue, address])
    }

    private func carryOut(_ order: Order, _ child: Child) throws -> Measurement {
        try child.send(JSONEncoder().encode(order))
        return try JSONDecoder().decode(Measurement.self, from: child.readLine())
    }
}

/// One order to a worker.
struct Order: Codable {
    var requests = 1
    var concurrency = 1
    var bytes = 0
    /// How often a process is killed.
    var kills = 0
    /// The part to measure, in a row that needs a separate process for each of its parts.
    var part: Paging.Part?
}

/// The process of one row: reads orders, executes them, and writes the measurements.
@MainActor struct Worker {
    let row: Row
    let url: URL

    /// Executes orders until the standard input ends.
    func run() async throws {
        signal(SIGPIPE, SIG_IGN)
        Core.pin(to: .client)
        let workload = try workload()
        while let line = readLine() {
            let order = try JSONDecoder().decode(Order.self, from: Data(line.utf8))
            let measurement = try await workload.run(order)
            try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(measurement) + Data("\n".utf8))
        }
    }

    private static func floor(_ goods: URL, decodes: Bool) throws -> any Workload {
        #if os(Linux)
        MeasuredLoop(loop: FloorLoop(goods, decodes: decodes))
        #else
        throw BenchFailure("the rows of bare libcurl are measured on Linux only")
        #endif
    }

    private func workload() throws -> any Workload {
        let service = APIService(baseURL: url)
        let goods = url.appending(path: Goods.path).appending(queryItems: [URLQueryItem(name: "category", value: "7")])
        return switch row {
        case .layer: try MeasuredLoop(loop: LayerLoop(service))
        case .proxy: try MeasuredLoop(loop: ProxyLoop(goods))
        case .floor, .floorRaw: try Self.floor(goods, decodes: row == .floor)
        case .urlSession: MeasuredLoop(loop: URLSessionLoop(goods, isAsync: false))
        case .urlSessionAsync: MeasuredLoop(loop: URLSessionLoop(goods, isAsync: true))
        case .upload: Upload(url: url)
        case .download: Download(url: url)
        case .cancel: Cancelling(url: url)
        case .idle: Idling(url: url)
        case .soak: try Soak(loop: LayerLoop(service))
        case .cookies: CookieCosts()
        case .relogin: ReloginStorm()
        case .race: Racing()
        case .queue: Queueing()
        case .load: ScriptedLoads()
        case .json: JSONCosts()
        case .adapters: AdapterCosts()
        case .monitors: MonitorCosts()
        case .events: EventStreams(url: url)
        case .resume: Resuming(url: url)
        case .cache: CacheCosts()
        case .images: ImageCosts()
        case .paging: Paging(proxy: PageScript.goods())
        case .pagingSockets: try Paging(proxy: APIProxy(service: service, transport: Connections.transport()))
        }
    }
}

/// The implementation of a row; it keeps its connections from order to order.
@MainActor protocol Workload {
    /// Executes and measures an order.
    func run(_ order: Order) async throws -> Measurement
}

/// An unexpected result during a measurement.
struct BenchFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

#if os(macOS) || os(Linux)
/// A child process that runs the bench's executable with other arguments; it ends when its input ends.
final class Child {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let name: String
    private var unread = Data()

    init(_ arguments: [String]) throws {
        name = arguments.joined(separator: " ")
        #if os(Linux)
        process.executableURL = URL(filePath: "/proc/self/exe")
        #else
        process.executableURL = Bundle.main.executableURL
        #endif
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    var isRunning: Bool { process.isRunning }

    /// Ends the process at once, and waits until it has ended.
    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Writes a line to the process.
    func send(_ line: Data) throws {
        try input.fileHandleForWriting.write(contentsOf: line + Data("\n".utf8))
    }

    /// Waits for a line from the process.
    func readLine() throws -> Data {
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread = Data(unread[(end + 1)...]) }
                return Data(unread[..<end])
            }
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw BenchFailure("'\(name)' ended before its time") }
            unread += more
        }
    }
}
#else
/// A child process, which this platform does not allow.
final class Child {
    init(_ arguments: [String]) throws {
        throw BenchFailure("the bench needs child processes: run it on macOS or Linux")
    }

    var isRunning: Bool { false }
    func kill() {}
    func send(_ line: Data) throws {}
    func readLine() throws -> Data { Data() }
}
#endif

/// The cores of the machine, divided so that server and client do not share one.
enum Core {
    /// The role of a process.
    enum Role {
        case server
        case client
    }

    /// Binds the process to the client's or the server's core; does nothing with a single core or without permission.
    static func pin(to role: Role) {
        #if os(Linux)
        let cores = allowed
        guard cores.count > 1, let core = role == .client ? cores.first : cores.last else { return }
        var bits = [UInt8](repeating: 0, count: setBytes)
        bits[core / 8] |= 1 << (core % 8)
        _ = call("sched_setaffinity", &bits)
        #endif
    }

    #if os(Linux)
    /// `pid_t`, the bytes of the set, the set (`sched_setaffinity(2)`).
    private typealias Function = @convention(c) (Int32, Int, UnsafeMutableRawPointer) -> Int32

    private static let setBytes = 128

    private static var allowed: [Int] {
        var bits = [UInt8](repeating: 0, count: setBytes)
        guard call("sched_getaffinity", &bits) else { return [] }
        return (0..<setBytes * 8).filter { bits[$0 / 8] & 1 << ($0 % 8) != 0 }
    }

    /// The C library declares the functions only with `_GNU_SOURCE`, but always contains them.
    private static func call(_ name: String, _ bits: inout [UInt8]) -> Bool {
        guard let symbol = dlsym(nil, name) else { return false }
        return unsafeBitCast(symbol, to: Function.self)(0, setBytes, &bits) == 0
    }
    #endif
}
