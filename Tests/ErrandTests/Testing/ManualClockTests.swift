import ErrandTesting
import Testing

@testable import Errand

@Suite("Clocks and the waits they are given", .timeLimit(.minutes(1)))
struct ManualClockTests {
    @Test(arguments: [Duration.zero, .seconds(-1), .seconds(5)])
    func `A cancelled task does not wait, however short the wait is`(_ duration: Duration) async {
        let clocks: [any APIClock] = [ManualClock(), SystemClock()]
        for clock in clocks {
            let waiting = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return (try? await clock.sleep(for: duration)) == nil
            }
            #expect(await waiting.value, "\(clock)")
        }
    }

    @Test func `The longest wait of all is a wait like any other`() async {
        await #expect(processExitsWith: .success) {
            let waiting = Task { try await SystemClock().sleep(for: .seconds(Int64.max)) }
            let alarm = Task {
                try? await Task.sleep(for: .milliseconds(50))
                waiting.cancel()
            }
            await #expect(throws: CancellationError.self) { try await waiting.value }
            await alarm.value
        }
    }
}
