import Errand
import ErrandTesting
import Testing

@Suite(
    "Requests that Django REST framework throttles",
    .takesTurns,
    .timeLimit(.minutes(5)),
    .enabled(if: PythonServer.isInstalled, PythonServer.absence)
)
@MainActor struct OrderTests {
    @Test func `A GET that is throttled is sent again after the delay of Retry-After`() async throws {
        let service = Backend.device(try await PythonServer.bookshopURL(), account: Account(name: "emil"))
        try await withSharedProxy(APIProxy(service: service)) {
            for _ in 0..<2 {
                let value = try await APIRequest<JSONValue>("/orders/").value()
                #expect(value["orders"]?.int == 0)
            }
        }
    }

    @Test func `Without retries, a throttled request shows the message of the server`() async throws {
        var service = Backend.device(try await PythonServer.bookshopURL(), account: Account(name: "fay"))
        service.retryPolicy = .never
        try await withSharedProxy(APIProxy(service: service)) {
            let value = try await OrderRequest().value(params: ["book": 3])
            #expect(value.book == 3)
            let error = await #expect(throws: APIError.self) { try await OrderRequest().value(params: ["book": 4]) }
            #expect(error?.status == 429)
            #expect(error?.message.hasPrefix("Request was throttled.") == true)
        }
    }
}
