#if os(Linux)
import Foundation

/// Who may run: exchanges wait, first in first out, until their host has room for one more.
///
/// It stays on the thread of its loop.
final class CurlQueue {
    private let connectionsPerHost: Int
    private let connections: Int
    private var hosts: [String: CurlHost] = [:]
    private var crowded: [CurlHost] = []
    private var running = 0

    init(_ configuration: TransportConfiguration) {
        connectionsPerHost = max(1, configuration.connectionsPerHost)
        connections = max(1, configuration.connections)
    }

    /// Lets an exchange run now, or puts it at the end of its host's line; answers whether it may run.
    func admit(_ exchange: CurlExchange) -> Bool {
        let host = host(of: exchange)
        if host.waiting.isEmpty, hasRoom(for: host) {
            enter(host)
            return true
        }
        host.waiting.append(exchange)
        if !crowded.contains(where: { $0 === host }) { crowded.append(host) }
        return false
    }

    /// Takes the next waiting exchange that may run; hosts take turns.
    func next() -> CurlExchange? {
        guard running < connections, let turn = crowded.firstIndex(where: hasRoom) else { return nil }
        let host = crowded.remove(at: turn)
        let exchange = host.waiting.popFirst()
        if !host.waiting.isEmpty { crowded.append(host) }
        if exchange != nil { enter(host) }
        return exchange ?? next()
    }

    /// Hears that a running exchange has ended, and whether its connection carries many at a time, if that is known.
    func leave(_ exchange: CurlExchange, isMultiplexed: Bool?) {
        running -= 1
        exchange.host?.running -= 1
        if let isMultiplexed { exchange.host?.isMultiplexed = isMultiplexed }
    }

    /// Calls `body` with every exchange that waits.
    func forEach(_ body: (CurlExchange) -> Void) {
        for host in crowded { host.waiting.forEach(body) }
    }

    private func hasRoom(for host: CurlHost) -> Bool {
        running < connections && host.running < (host.isMultiplexed ? Self.streamsPerConnection : connectionsPerHost)
    }

    private func enter(_ host: CurlHost) {
        host.running += 1
        running += 1
    }

    private func host(of exchange: CurlExchange) -> CurlHost {
        if hosts.count >= Self.rememberedHosts { hosts = hosts.filter { !$0.value.isIdle } }
        let host = hosts[exchange.origin] ?? CurlHost()
        hosts[exchange.origin] = host
        exchange.host = host
        return host
    }

    private static let rememberedHosts = 1_000
    /// How many streams libcurl puts on one connection; one more would open another connection.
    private static let streamsPerConnection = 100
}

/// What one host has under way.
final class CurlHost {
    fileprivate(set) var running = 0
    fileprivate(set) var isMultiplexed = false
    fileprivate(set) var waiting = CurlWaitingLine()
    /// What its servers have told about streams that they refuse.
    var lastStreams = CurlLastStreams()

    fileprivate var isIdle: Bool { running == 0 && waiting.isEmpty }

    /// Hears that a waiting exchange has ended.
    func forgetOne() {
        waiting.forgetOne()
    }
}

/// Exchanges in the order of their arrival; those that have ended meanwhile are passed over.
struct CurlWaitingLine {
    private var exchanges: [CurlExchange?] = []
    private var first = 0
    private var forgotten = 0

    /// Whether nobody waits.
    var isEmpty: Bool { exchanges.count - first == forgotten }

    /// Adds one at the end.
    mutating func append(_ exchange: CurlExchange) {
        exchanges.append(exchange)
    }

    /// Takes the first one that still waits.
    mutating func popFirst() -> CurlExchange? {
        while first < exchanges.count {
            let exchange = exchanges[first]
            exchanges[first] = nil
            first += 1
            compact()
            guard let exchange, case .waiting = exchange.stage else {
                forgotten -= 1
                continue
            }
            return exchange
        }
        return nil
    }

    /// Hears that one of them has ended.
    mutating func forgetOne() {
        forgotten += 1
        guard forgotten > 64, forgotten > exchanges.count / 2 else { return }
        exchanges.removeAll { exchange in
            guard case .waiting = exchange?.stage else { return true }
            return false
        }
        first = 0
        forgotten = 0
    }

    /// Calls `body` with every one that still waits.
    func forEach(_ body: (CurlExchange) -> Void) {
        for exchange in exchanges[first...] {
            guard let exchange, case .waiting = exchange.stage else { continue }
            body(exchange)
        }
    }

    private mutating func compact() {
        guard first > 64, first > exchanges.count / 2 else { return }
        exchanges.removeFirst(first)
        first = 0
    }
}
#endif
