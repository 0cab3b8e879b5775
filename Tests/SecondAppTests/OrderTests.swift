import Errand
import ErrandTesting
import Testing

@Suite(
    "Requests that Django REST framework throttles",
    .limitedConcurrency,
    .timeLimit(.minutes(5)),
    .enabled(if: PythonServer.isInstalled, PythonServer.absence)
)
@MainActor struct OrderTests {
    @Test func `A GET that is throttled is sent again after the delay of Retry-After`() async throws {
        let service = Backend.device(try await PythonServer.bookshopURL(), account: Account(name: "emil"))
        try await withSharedProxy(APIProxy(service: service)) {
            let orders = APIRequest<JSONValue>("/orders/")
            let first = try await orders.value()
            let second = try await orders.value()
            #expect(first["refusals"]?.int == 0 && second["refusals"]?.int == 1)
        }
    }

    @Test func `A POST that is throttled is sent again too, because nothing was executed`() async throws {
        let service = Backend.device(try await PythonServer.bookshopURL(), account: Account(name: "gus"))
        try await withSharedProxy(APIProxy(service: service)) {
            let first = try await OrderRequest().value(params: ["book": 3])
            let second = try await OrderRequest().value(params: ["book": 4])
            #expect(first.refusals == 0 && second.refusals == 1)
            #expect(second.book == 4)
        }
    }

    @Test func `Without retries, a throttled request fails with the message of the server`() async throws {
        var service = Backend.device(try await PythonServer.bookshopURL(), account: Account(name: "fay"))
        service.retryPolicy = .never
        try await withSharedProxy(APIProxy(service: service)) {
            let report = APIRequest<JSONValue>("/reports/")
            _ = try await report.value()
            let error = await #expect(throws: APIError.self) { try await report.value() }
            #expect(error?.type == .http && error?.status == 429)
            #expect(error?.message.hasPrefix("Request was throttled.") == true)
        }
    }
}
