import Errand
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import ErrandSigning

@Suite("Sealed traffic over sockets", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(5)))
struct SealingLiveTests {
    @Test(arguments: SealingCipher.allCases)
    func `Path and query are authenticated as the server receives them`(_ cipher: SealingCipher) async throws {
        let (sealing, listener) = try start(cipher)
        let proxy = APIProxy(service: service(listener, sealing, cipher))
        let paths = ["/a%20b/é?x=1&y=a%2Bb", "/list/", "/q?text=ü 中", "/a/../b", "/x#fragment"]
        for path in paths {
            let request = await APIRequest<String>(path, method: .post, params: ["n": path], proxy: proxy)
            _ = try await request.value()
        }
        #expect(sealing.bodies.count == paths.count)
        _ = try await APIRequest<String>("", params: ["page": 1, "q": "ä b+c"], proxy: proxy).value()
        #expect(sealing.exchanges == 1)
        listener.stop()
    }

    @Test func `Loads over a few connections whose key expires share one exchange`() async throws {
        let (sealing, listener) = try start(.aesGCM)
        let service = service(listener, sealing, .aesGCM)
        let proxy = APIProxy(service: service)
        for round in 1...5 {
            let values = try await withThrowingTaskGroup { group in
                for number in 0..<50 {
                    group.addTask {
                        try await APIRequest<String>("/e", method: .post, params: ["n": number], proxy: proxy).value()
                    }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(values == Set((0..<50).map { #"{"n":\#($0)}"# }))
            #expect(sealing.exchanges == round)
            sealing.expireKeys()
        }
        listener.stop()
    }

    private func start(_ cipher: SealingCipher) throws -> (SealingServer, FixtureServer) {
        let server = SealingServer(cipher)
        let listener = try FixtureServer.start { request in
            let headers = HTTPHeaders(request.headers.map { HTTPField($0.name, $0.value) })
            let response = server.response(request.method, request.target, headers, Data(request.body))
            let lines = HeaderLines(response.headers.map { HeaderLine($0.name, $0.value) })
            return .bytes(Array(response.body), status: response.status, headers: lines)
        }
        return (server, listener)
    }

    /// A service whose exchange is a load of the same service.
    private func service(_ listener: FixtureServer, _ server: SealingServer, _ cipher: SealingCipher) -> APIService {
        var service = APIService(baseURL: listener.baseURL)
        service.retryPolicy = .never
        service.seal(with: TrafficSealing(cipher: cipher, keyExchange: SampleExchange(server), expiredCodes: [4011]))
        return service
    }
}
