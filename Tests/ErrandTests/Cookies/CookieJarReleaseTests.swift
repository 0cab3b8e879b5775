import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite("What jars and their owners release may call them", .timeLimit(.minutes(10)))
struct CookieJarReleaseTests {
    @Test func `A proxy that ends while its jar looks at it`() async {
        await #expect(processExitsWith: .success) {
            // What waits for itself ends here.
            alarm(60)
            let (jar, transport) = (CookieJar(), ScriptedTransport())
            DispatchQueue.concurrentPerform(iterations: 2) { _ in
                for _ in 0..<5_000 {
                    let service = APIService.sample { $0.reloginHandler = Asking { _ = jar.cookies } }
                    _ = APIProxy(service: service, transport: transport, cookies: jar)
                }
            }
        }
    }

    @Test func `A jar that ends while others of its file are looked for`() async {
        await #expect(processExitsWith: .success) {
            alarm(60)
            let folder = try TemporaryFolder()
            let shared = CookieJar(file: folder.file)
            DispatchQueue.concurrentPerform(iterations: 2) { _ in
                for _ in 0..<500 {
                    _ = CookieJar(file: folder.file) { [asking = Asking { shared.empty() }] _ in _ = asking }
                    shared.empty()
                }
            }
        }
    }
}
