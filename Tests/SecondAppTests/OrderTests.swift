import Errand
import ErrandTesting
import Foundation
import TestSupport
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
            let key = UUID().uuidString
            let first = try await orders.value(params: ["key": key])
            let second = try await orders.value(params: ["key": key])
            #expect(first["refusals"]?.int == 0 && second["refusals"]?.int == 1)
        }
    }

    @Test func `A POST that is throttled is sent again too, because nothing was executed`() async throws {
        let service = Backend.device(try await PythonServer.bookshopURL(), account: Account(name: "gus"))
        try await withSharedProxy(APIProxy(service: service)) {
            let key = UUID().uuidString
            let first = try await OrderRequest().value(params: ["book": 3, "key": key])
            let second = try await OrderRequest().value(params: ["book": 4, "key": key])
            #expect(first.refusals == 0 && second.refusals == 1)
            #expect(second.book == 4)
        }
    }

    @Test func `Without retries, a throttled request fails with the message of the server`() async throws {
        var service = Backend.device(try await PythonServer.bookshopURL(), account: Account(name: "fay"))
        service.retryPolicy = .never
        try await withSharedProxy(APIProxy(service: service)) {
            let report = APIRequest<JSONValue>("/reports/")
            let params: RequestParams = ["key": UUID().uuidString]
            _ = try await report.value(params: params)
            let error = await #expect(throws: APIError.self) { try await report.value(params: params) }
            #expect(error?.type == .http && error?.status == 429)
            #expect(error?.message.hasPrefix("Request was throttled.") == true)
        }
    }
}
