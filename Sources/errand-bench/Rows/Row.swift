/// A measurement that the bench offers.
enum Row: String, CaseIterable {
    case layer
    case proxy
    case floor
    case floorRaw = "floor-raw"
    case urlSession = "urlsession"
    case urlSessionAsync = "urlsession-async"
    case upload
    case download
    case cancel
    case idle
    case soak
    case cookies
    case relogin
    case race
    case queue
    case load
    case paging
    case pagingSockets = "paging-sockets"
    case json
    case adapters
    case monitors

    /// The rows that this platform can measure: bare libcurl on Linux only.
    static let measurable: [Row] = {
        #if os(Linux)
        allCases
        #else
        allCases.filter { ![.floor, .floorRaw].contains($0) }
        #endif
    }()

    /// Whether the row is measured at several concurrencies, in turns with the other rows of this kind.
    var isPaired: Bool { Self.paired.contains(self) }

    private static let paired: Set<Row> = [.layer, .proxy, .floor, .floorRaw, .urlSession, .urlSessionAsync]
}

/// One order to a worker.
struct Order: Codable {
    var requests = 1
    var concurrency = 1
    var bytes = 0
    /// The part to measure, in a row that needs a separate process for each of its parts.
    var part: String?
}

/// The values of one order, by the names of the JSON fields.
typealias Measurement = [String: Double]

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
