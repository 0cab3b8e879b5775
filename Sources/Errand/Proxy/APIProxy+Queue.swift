import Foundation
import Synchronization

extension APIProxy {
    /// How many requests are in the queue.
    package var queuedCount: Int { state.withLock(\.queue.waitingCount) }

    /// Does `work` when it is its turn; without a place it is at once.
    ///
    /// - Throws: What `work` throws; `cancelled` when the task was cancelled in the queue.
    func inTurn<Value>(
        _ place: RequestQueue.Place?,
        _ work: () async throws(APIError) -> Value
    ) async throws(APIError) -> Value {
        guard let place else { return try await work() }
        guard await enter(place) else { throw APIError(.cancelled) }
        defer { leave(place) }
        return try await work()
    }

    private func enter(_ place: RequestQueue.Place) async -> Bool {
        let ticket = state.withLock { state in
            state.queue.enter(place) ? nil : state.queue.ticket()
        }
        guard let ticket else { return true }
        return await suspended(ifCancelled: false) { waiter in
            state.withLock { $0.queue.wait(waiter, with: ticket, at: place) ? true : nil }
        } unpark: {
            state.withLock { $0.queue.remove(ticket, at: place) }
        }
    }

    private func leave(_ place: RequestQueue.Place) {
        state.withLock { $0.queue.leave(place) }?.resume(returning: true)
    }
}

extension URL {
    /// Host and port as they are written, which is whom a limit is for.
    var authority: String {
        let text = absoluteString.utf8
        guard let slash = text.firstIndex(of: UInt8(ascii: "/")) else { return "" }
        let rest = text[slash...].drop { $0 == UInt8(ascii: "/") }
        let end = rest.firstIndex { [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains($0) }
        return String(decoding: rest[..<(end ?? rest.endIndex)], as: UTF8.self)
    }
}
