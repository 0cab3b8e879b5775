// Exit tests need child processes.
#if os(macOS) || os(Linux)
import ErrandTesting
import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Objects that call a jar when they are deinitialized", .timeLimit(.minutes(10)))
struct CookieJarReleaseTests {
    @Test func `A proxy that is released while its jar reads the weak reference to it`() async {
        await #expect(processExitsWith: .success) {
            // A deadlock ends the process here.
            alarm(60)
            let (jar, transport) = (CookieJar(), ScriptedTransport())
            DispatchQueue.concurrentPerform(iterations: 2) { _ in
                for _ in 0..<5_000 {
                    let service = APIService.sample { $0.reloginHandler = DeinitObserver { _ = jar.cookies } }
                    _ = APIProxy(service: service, transport: transport, cookies: jar)
                }
            }
        }
    }

    @Test func `A jar that is released while the jars of its file are searched`() async {
        await #expect(processExitsWith: .success) {
            alarm(60)
            let folder = try TemporaryFolder()
            let shared = CookieJar(file: folder.file)
            DispatchQueue.concurrentPerform(iterations: 2) { _ in
                for _ in 0..<500 {
                    _ = CookieJar(file: folder.file) { [asking = DeinitObserver { shared.clearInMemory() }] _ in
                        _ = asking
                    }
                    shared.clearInMemory()
                }
            }
        }
    }
}
#endif
