import Errand
import Foundation
import Testing

@testable import ErrandTestSupport

/// A known fault of one transport, with which a test of the contract can include the transport.
struct KnownFault {
    /// The transport with the fault.
    let kind: TransportKind
    /// A description of the fault.
    let reason: String
    /// The failures of a test that show this fault.
    ///
    /// An issue contains one of these texts; any other issue shows another fault.
    var symptoms: [String] = []
    /// Whether the fault exists on Apple's platforms too.
    var isEverywhere = false
    /// Whether the fault exists only with the libcurl of another distribution, with which `.ci/libcurl-versions` runs.
    var needsForeignLibcurl = false

    /// Runs `body`, in which a symptom is a known issue if `kind` has this fault; a later version of it may pass.
    func known(for kind: TransportKind, _ body: () async throws -> Void) async throws {
        try await withKnownIssue("\(self.kind): \(reason)", isIntermittent: true) {
            try await body()
        } when: {
            kind == self.kind && (isEverywhere || Self.isLinux) && (!needsForeignLibcurl || Self.isLibcurlForeign)
        } matching: { issue in
            isShown(by: issue)
        }
    }

    /// Whether an issue shows this fault.
    func isShown(by issue: Issue) -> Bool {
        symptoms.contains { "\(issue)".contains($0) }
    }

    private static let isLibcurlForeign = ProcessInfo.processInfo.environment["ERRAND_LIBCURL"] != nil

    #if os(Linux)
    static let isLinux = true
    #else
    static let isLinux = false
    #endif
}

/// Faults of Foundation's URLSession that no code above it can correct.
extension KnownFault {
    static let joinedLines = KnownFault(
        kind: .urlSession,
        reason: "header lines of one name are joined, and the order of lines is lost",
        symptoms: [#"["1,3"]"#, #"["1, 3"]"#, #""1, 3"]) == ["1", "2", "3""#],
        isEverywhere: true
    )
    static let bodyOfGet = KnownFault(
        kind: .urlSession,
        reason: "a GET with a body is refused",
        symptoms: ["invalidRequest: URLSession cannot send a body with GET"],
        isEverywhere: true
    )
    static let cutHead = KnownFault(
        kind: .urlSession,
        reason: "the process ends when the connection closes inside the header block",
        symptoms: traps
    )
    static let trailers = KnownFault(
        kind: .urlSession,
        reason: "the process ends when a response has trailers",
        symptoms: traps
    )
    static let location = KnownFault(
        kind: .urlSession,
        reason: "the process crashes when a redirect leads to an IPv6 or escaped host without a scheme",
        symptoms: traps
    )
    static let redirectBody = KnownFault(
        kind: .urlSession,
        reason: "the body of a 3xx without a usable Location is lost",
        symptoms: ["(response.body → 0 bytes)"]
    )
    static let headerSyntax = KnownFault(
        kind: .urlSession,
        reason: "a missing blank or reason, a bare LF and bytes beyond UTF-8 are refused",
        // From libcurl 7.88, and from later ones.
        symptoms: ["badResponse: Failed writing header", "connectionLost: Failure writing output to destination"]
    )
    static let dotSegments = KnownFault(
        kind: .urlSession,
        reason: "dot segments of a path are resolved before it is sent",
        symptoms: [#"(target → "/b/c")"#]
    )
    static let targetCase = KnownFault(
        kind: .urlSession,
        reason: "libcurl 8.23 changes the case of percent-encoded bytes in the path",
        symptoms: ["%2E%2E%2F?q=%2e%2e%2F", "%C3%BC%C3%BC?q=%c3%bc%C3%bC"]
    )
    static let cutGzip = KnownFault(
        kind: .urlSession,
        reason: "a truncated compressed body is accepted",
        symptoms: ["an error was expected but none was thrown"]
    )
    static let spin = KnownFault(
        kind: .urlSession,
        reason: "requests that wait on new connections keep the queue of all sessions busy, so that bytes come late",
        symptoms: ["timeout: the connection was silent for too long"]
    )
    static let authorities = KnownFault(
        kind: .urlSession,
        reason: "libcurl does not find the authorities where its distribution has them, and fails before the handshake",
        symptoms: ["security", "connectionLost"].flatMap { kind in
            ["(ending → failed: \(kind))", "(ending → .\(kind))", #"["\#(kind)", "\#(kind)", "\#(kind)"]) =="#]
        },
        needsForeignLibcurl: true
    )
    static let addressLiteral = KnownFault(
        kind: .urlSession,
        reason: "a URL with an IPv6 literal is refused",
        symptoms: ["invalidRequest: The operation could not be completed. (NSURLErrorDomain error -1000.)"]
    )

    /// Swift's traps, on Intel and on ARM.
    private static let traps = ["SIGILL", "SIGTRAP"]
}

extension Optional where Wrapped == KnownFault {
    /// Runs `body`, as a known issue if there is a fault.
    func known(for kind: TransportKind, _ body: () async throws -> Void) async throws {
        guard let self else { return try await body() }
        try await self.known(for: kind, body)
    }
}

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
