import ErrandTesting
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Clocks and their waits", .timeLimit(.minutes(10)))
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

    // Exit tests need child processes.
    #if os(macOS) || os(Linux)
    @Test func `The longest possible wait outlasts a short one, and can be cancelled`() async {
        await #expect(processExitsWith: .success) {
            let (longest, short) = (Duration.seconds(Int64.max), Duration.milliseconds(1))
            await withTaskGroup { group in
                for duration in [longest, short] {
                    group.addTask {
                        try? await SystemClock().sleep(for: duration)
                        return duration
                    }
                }
                #expect(await group.next() == short)
                group.cancelAll()
                #expect(await group.next() == longest)
            }
        }
    }
    #endif
}
