import Errand
import Testing

@testable import ErrandTestSupport

@Suite("Known faults of a transport")
struct KnownFaultTests {
    private static let fault = KnownFault(kind: .curl, reason: "a test", symptoms: ["(number → 1)"], isEverywhere: true)

    @Test func `A symptom is a known issue`() async throws {
        try await Self.fault.known(for: .curl) {
            let number = 1
            #expect(number == 2)
        }
    }

    @Test(arguments: [TransportKind.curl, .urlSession])
    func `Any other failure of the same test is none`(_ kind: TransportKind) async throws {
        // The inner fault must leave the issue to the outer one.
        await withKnownIssue {
            try await Self.fault.known(for: kind) {
                let number = kind == .curl ? 3 : 1
                #expect(number == 2)
            }
        }
    }

    @Test func `A thrown error that is no symptom is thrown`() async {
        let error = await #expect(throws: TransportError.self) {
            try await Self.fault.known(for: .curl) { throw TransportError(.timeout, "late") }
        }
        #expect(error?.kind == .timeout)
    }
}
