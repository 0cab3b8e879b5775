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
        if exchange.request.bypassesLimits || host.waiting.isEmpty && hasRoom(for: host) {
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
    /// Whether the host's last answer came over HTTP/2.
    fileprivate(set) var isMultiplexed = false
    fileprivate(set) var waiting = CurlWaitingLine()
    /// Before when no further exchange stops waiting for a connection that another one makes.
    var nextConnection: CurlClock.Instant = 0

    fileprivate var isIdle: Bool { running == 0 && waiting.isEmpty }

    /// Hears that a waiting exchange has ended.
    func forget(_ exchange: CurlExchange) {
        waiting.forget(exchange)
    }
}

/// Exchanges in the order of their arrival, each of which knows its place by its `index`.
struct CurlWaitingLine {
    private var exchanges: [CurlExchange?] = []
    /// The `index` of the first slot.
    private var start = 0
    private var first = 0
    private var forgotten = 0

    /// Whether nobody waits.
    var isEmpty: Bool { exchanges.count - first == forgotten }

    /// Adds one at the end.
    mutating func append(_ exchange: CurlExchange) {
        exchange.index = start + exchanges.count
        exchanges.append(exchange)
    }

    /// Takes the first one.
    mutating func popFirst() -> CurlExchange? {
        while first < exchanges.count {
            let exchange = exchanges[first]
            exchanges[first] = nil
            first += 1
            compact()
            if let exchange { return exchange }
            forgotten -= 1
        }
        return nil
    }

    /// Lets go of one that has ended.
    mutating func forget(_ exchange: CurlExchange) {
        exchanges[exchange.index - start] = nil
        forgotten += 1
        guard forgotten > 64, forgotten > exchanges.count / 2 else { return }
        let rest = exchanges.compactMap(\.self)
        self = CurlWaitingLine()
        for exchange in rest { append(exchange) }
    }

    /// Calls `body` with every one of them.
    func forEach(_ body: (CurlExchange) -> Void) {
        exchanges[first...].compactMap(\.self).forEach(body)
    }

    private mutating func compact() {
        guard first > 64, first > exchanges.count / 2 else { return }
        exchanges.removeFirst(first)
        start += first
        first = 0
    }
}
#endif
