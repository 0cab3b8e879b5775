import Foundation
import Synchronization

/// A load's claim to be at the transport, which it has or has to wait for.
struct Turn: Sendable {
    /// Where it queues; `nil` is everywhere at once.
    let place: RequestQueue.Place?
    fileprivate(set) var isHeld = false
}

extension APIProxy {
    /// How many requests are in the queue.
    package var queuedCount: Int { state.withLock(\.queue.waitingCount) }

    /// Does `work` when it is its turn, and gives the turn back.
    ///
    /// - Throws: What `work` throws; `cancelled` when the task was cancelled in the queue.
    func inTurn<Value>(
        _ turn: inout Turn,
        _ work: () async throws(APIError) -> Value
    ) async throws(APIError) -> Value {
        guard await take(&turn) else { throw APIError(.cancelled) }
        defer { giveBack(&turn) }
        return try await work()
    }

    /// Lets the next in line go.
    func giveBack(_ turn: inout Turn) {
        guard turn.isHeld, let place = turn.place else { return }
        turn.isHeld = false
        switch state.take({ $0.queue.leave(place) }) {
        case .unstarted(let start): start()
        case .suspended(let task): task.resume(returning: true)
        case nil: break
        }
    }

    private func take(_ turn: inout Turn) async -> Bool {
        guard !turn.isHeld, let place = turn.place else { return true }
        turn.isHeld = await enter(place)
        return turn.isHeld
    }

    private func enter(_ place: RequestQueue.Place) async -> Bool {
        let ticket = state.withLock { state in
            state.queue.enter(place) ? nil : state.queue.ticket()
        }
        guard let ticket else { return true }
        return await suspended(ifCancelled: false) { task in
            state.withLock { $0.queue.wait(.suspended(task), with: ticket, at: place) ? true : nil }
        } unpark: {
            guard case .suspended(let task) = state.take({ $0.queue.remove(ticket, at: place) }) else { return nil }
            return task
        }
    }
}

extension Turn {
    /// The turn of a load whose place the queue has given it.
    static func held(_ place: RequestQueue.Place?) -> Turn { Turn(place: place, isHeld: place != nil) }
}

extension URL {
    /// Host and port, which are whom a limit is for.
    var authority: String {
        let text = absoluteString.utf8
        guard let slash = text.firstIndex(of: UInt8(ascii: "/")) else { return "" }
        let rest = text[slash...].drop { $0 == UInt8(ascii: "/") }
        let end = rest.firstIndex { [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains($0) }
        let authority = rest[..<(end ?? rest.endIndex)]
        let host = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[$0...].dropFirst() } ?? authority
        return String(decoding: host.map(\.asciiLowercased), as: UTF8.self)
    }
}
