import Errand
import Foundation

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
        case .paging: Paging(PageScript.goods())
        case .pagingSockets: try Paging(APIProxy(service: service, transport: Connections.transport()))
        }
    }
}
