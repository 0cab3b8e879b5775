/// What can be measured.
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

    /// Whether the row is measured at several concurrencies, in turns with the others of its kind.
    var isPaired: Bool { Self.paired.contains(self) }

    private static let paired: Set<Row> = [.layer, .proxy, .floor, .floorRaw, .urlSession, .urlSessionAsync]
}

/// What a worker is asked to do once.
struct Order: Codable {
    var requests = 1
    var concurrency = 1
    var bytes = 0
    /// What to do of a row that needs a process of its own for each of its parts.
    var part: String?
}

/// What came out of an order, by the names of the JSON fields.
typealias Measurement = [String: Double]

/// A row at work; it keeps its connections from order to order.
@MainActor protocol Workload {
    /// Carries out an order and measures it.
    func run(_ order: Order) async throws -> Measurement
}

/// A request did not do what it should have.
struct BenchFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
