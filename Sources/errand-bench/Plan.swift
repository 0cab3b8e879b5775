/// The rows to measure, how often to measure them, and the format of the report.
struct Plan {
    /// The format of the results.
    enum Format {
        case table
        case json
    }

    var rows = Row.measurable
    var format = Format.table
    var plot: String?
    var isQuick = false
    var concurrencies = [1, 16, 64, 512]
    var rounds = 5
    var soakRequests = 200_000

    /// Parses the arguments of a measurement.
    init(_ arguments: [String]) throws(UsageError) {
        var rest = arguments[...]
        var rows: [Row] = []
        while let argument = rest.popFirst() {
            switch argument {
            case "--json": format = .json
            case "--quick": makeQuick()
            case "--plot": plot = try Self.value(of: argument, &rest)
            case "--concurrency": concurrencies = try Self.numbers(argument, &rest)
            case "--rounds": rounds = try Self.number(argument, &rest)
            case "--requests": soakRequests = try Self.number(argument, &rest)
            default: rows += try Row.named(argument)
            }
        }
        if !rows.isEmpty { self.rows = Row.allCases.filter(rows.contains) }
    }

    /// The approximate duration of one turn of a row.
    var secondsPerTurn: Double { isQuick ? 0.02 : 0.4 }
    /// The size of an upload or a download, in bytes.
    var transferBytes: Int { isQuick ? 64 << 20 : 1 << 30 }

    private mutating func makeQuick() {
        isQuick = true
        concurrencies = [1, 16]
        soakRequests = 2_000
    }

    private static func value(of name: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> String {
        guard let value = rest.popFirst() else { throw UsageError("\(name) needs a value") }
        return value
    }

    private static func number(_ name: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> Int {
        let numbers = try numbers(name, &rest)
        guard numbers.count == 1 else { throw UsageError("\(name) needs one number") }
        return numbers[0]
    }

    private static func numbers(_ name: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> [Int] {
        let texts = try value(of: name, &rest).split(separator: ",")
        let numbers = texts.compactMap { Int($0) }.filter { (1...1_000_000_000).contains($0) }
        guard !numbers.isEmpty, numbers.count == texts.count else {
            throw UsageError("\(name) needs numbers from 1 on")
        }
        return numbers
    }
}

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
    case events
    case resume
    case cache
    case images

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

    /// Returns the rows that an argument names; the name of a family, such as `floor`, includes all its members.
    fileprivate static func named(_ name: String) throws(UsageError) -> [Row] {
        let rows = allCases.filter { $0.rawValue == name || $0.rawValue.hasPrefix(name + "-") }
        guard !rows.isEmpty else {
            throw UsageError(name.hasPrefix("-") ? "unknown option \(name)" : "unknown row \(name)")
        }
        return rows
    }
}
