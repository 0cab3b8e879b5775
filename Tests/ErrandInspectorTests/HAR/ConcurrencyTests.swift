import ErrandInspector
import Foundation
import Testing

@testable import Errand

@Suite("Recording and exporting at the same time", .timeLimit(.minutes(5)))
struct HARConcurrencyTests {
    @Test("Exports are complete while loads are recorded and removed")
    func export() async throws {
        var limits = HARRecorder.Limits()
        limits.exchanges = 50
        let recorder = HARRecorder(limits: limits)
        let loads = 4 as UInt64
        try await withThrowingTaskGroup { group in
            for worker in 0..<loads {
                group.addTask { record(500, by: worker, in: recorder) }
            }
            for round in 0..<10 {
                group.addTask {
                    let entries = try recorder.entries()
                    #expect(entries.count <= 50)
                    #expect(entries.allSatisfy { $0._state == "open" || $0._state == "responded" })
                    #expect(!recorder.report().isEmpty)
                    if round == 5 { recorder.clear() }
                }
            }
            try await group.waitForAll()
        }
        #expect(recorder.count <= 50)
        record(60, by: loads, in: recorder)
        let entries = try recorder.entries()
        #expect(recorder.count == 50 && entries.count == 50)
        #expect(entries.allSatisfy { $0._state == "responded" })
    }

    private func record(_ count: UInt64, by worker: UInt64, in recorder: HARRecorder) {
        for number in 0..<count {
            let exchange = worker * 1_000_000 + number + 1
            let id = RequestID(rawValue: exchange)
            let request = HTTPRequest(.get, .shop("/\(exchange)"))
            let response = APIResponse(HTTPResponse(status: 200, body: Data("x".utf8)), url: request.url)
            let kinds: [APIEvent.Kind] = [
                .began, .queued, .started, .requestMade(request), .sent, .headReceived(status: 200, headers: [:]),
                .responded(response), .ended(.success),
            ]
            for kind in kinds { recorder.observe(APIEvent(kind, id: id, attempt: 1, exchange: exchange)) }
        }
    }
}
