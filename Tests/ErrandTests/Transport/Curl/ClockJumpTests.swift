#if os(Linux)
import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// Deadlines in a process in which the date changes at every query.
@Suite("Changes of the date", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ClockJumpTests {
    private static let hasCompiler = TestProgram.path(of: "clang") != nil
    private static let mark = "ERRAND_DATE_JUMPS"
    /// The preloaded libraries of this process.
    private static let preloaded = ProcessInfo.processInfo.environment["LD_PRELOAD"].map { [$0] } ?? []
    private static let isInside = ProcessInfo.processInfo.environment[mark] != nil

    @Test(.fault(79), .enabled(if: hasCompiler && !isInside, "clang is not installed"))
    func `No deadline changes when the date changes by ten years`() async throws {
        let folder = try TemporaryFolder()
        let source = folder.url.appending(path: "jumps.c")
        let library = folder.url.appending(path: "jumps.so").path
        try Data(Self.library.utf8).write(to: source)
        let compiling = try await TestProgram.run(["clang", "-shared", "-fPIC", "-O1", "-o", library, source.path])
        #expect(compiling.status == 0, "\(compiling.standardError)")
        let witness = folder.url.appending(path: "witness")
        let outcome = try await TestProgram.run([
            "env", "LD_PRELOAD=\(([library] + Self.preloaded).joined(separator: " "))", "\(Self.mark)=\(witness.path)",
            CommandLine.arguments[0],
            "--testing-library", "swift-testing", "--filter", "ClockJumpTests.*inside",
        ])
        #expect(outcome.status == 0)
        #expect(try String(contentsOf: witness, encoding: .utf8) == "held")
    }

    /// Date and time of day are ten years too early and too late in turn.
    private static let library = """
        #define _GNU_SOURCE
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>
        static long jump(void) {
            static int turn;
            return __atomic_add_fetch(&turn, 1, __ATOMIC_RELAXED) % 2 ? 315360000L : -315360000L;
        }
        int clock_gettime(clockid_t clock, struct timespec *now) {
            int result = syscall(SYS_clock_gettime, clock, now);
            if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += jump();
            return result;
        }
        int gettimeofday(struct timeval *now, void *zone) {
            struct timespec time;
            clock_gettime(CLOCK_REALTIME, &time);
            now->tv_sec = time.tv_sec;
            now->tv_usec = time.tv_nsec / 1000;
            return 0;
        }
        time_t time(time_t *now) {
            struct timespec time;
            clock_gettime(CLOCK_REALTIME, &time);
            if (now) *now = time.tv_sec;
            return time.tv_sec;
        }
        """

    @MainActor @Test(.enabled(if: isInside, "runs inside the process of the other test"))
    func `inside, deadlines pass when they are due`() async throws {
        #expect(abs(Date.now.timeIntervalSince(.now)) > 86_400)
        let server = try FixtureServer.start { request in
            request.path == "/hang" ? .hang : .text("ok").delayed(by: .milliseconds(400))
        }
        let transport = try CurlTransport()
        for limit in [\HTTPRequest.timeout, \.deadline] {
            var request = HTTPRequest(.get, server.url("/hang"))
            request[keyPath: limit] = .milliseconds(500)
            let start = ContinuousClock.now
            #expect(await transport.ending(of: request) == .timeout)
            #expect((Duration.milliseconds(495)..<Duration.seconds(10)).contains(start.duration(to: .now)))
            request = HTTPRequest(.get, server.url("/slow", host: "localhost"))
            request[keyPath: limit] = .seconds(20)
            for _ in 0..<3 { #expect(await transport.ending(of: request) == nil) }
        }
        #expect(server.totalConnections == 3)
        try await expectReloginDeadline(server, transport)
        try Data("held".utf8).write(to: URL(filePath: ProcessInfo.processInfo.environment[Self.mark] ?? ""))
    }

    @MainActor private func expectReloginDeadline(_ server: FixtureServer, _ transport: CurlTransport) async throws {
        let refusing = try FixtureServer.start { _ in .status(401) }
        var service = APIService(baseURL: refusing.baseURL)
        service.reloginHandler = Sleeper()
        service.reloginTimeout = .milliseconds(500)
        let screen = Screen()
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(service: service, transport: transport))
        let start = ContinuousClock.now
        request.loadData()
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect((Duration.milliseconds(495)..<Duration.seconds(10)).contains(start.duration(to: .now)))
    }
}

/// A relogin with a duration of one minute.
@MainActor private final class Sleeper: ReloginHandler {
    func relogin() async throws { try await Task.sleep(for: .seconds(60)) }
    func sessionDidExpire(_ error: APIError) {}
}
#endif
