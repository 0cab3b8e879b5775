import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@Suite(
    "Calls of httpbin that need no class",
    .limitedConcurrency,
    .timeLimit(.minutes(5)),
    .enabled(if: PythonServer.isInstalled, PythonServer.absence)
)
@MainActor struct HTTPBinTests {
    /// Runs a test with a proxy for httpbin.
    private func withTools(_ test: (APIProxy) async throws -> Void) async throws {
        let proxy = APIProxy(service: Backend.tools(try await PythonServer.httpbinURL()))
        try await withSharedProxy(proxy) { try await test(proxy) }
    }

    @Test func `Redirects are followed, refused, or limited`() async throws {
        try await withTools { _ in
            let request = APIRequest<JSONValue>("/absolute-redirect/3")
            let value = try await request.value()
            #expect(value["url"]?.string?.hasSuffix("/get") == true)
            #expect(request.rawResponse?.redirects.count == 3)

            let refusing = APIRequest<Void>(
                "/redirect/1",
                options: .init(acceptedStatuses: [302], redirectPolicy: .refuse)
            )
            try await refusing.value()
            #expect(refusing.rawResponse?.headers["Location"] == "/get")

            let limited = APIRequest<Void>("/redirect/4", options: .init(redirectPolicy: .follow(limit: 3)))
            await #expect(throws: APIError.self) { try await limited.value() }
        }
    }

    @Test func `Cookies that a redirect sets are sent, and removed when it removes them`() async throws {
        try await withTools { _ in
            let cookies = try await APIRequest<JSONValue>("/cookies/set", params: ["flavour": "oat & honey"]).value()
            #expect(cookies == ["cookies": ["flavour": "oat & honey"]])
            let rest = try await APIRequest<JSONValue>("/cookies/delete", params: ["flavour": ""]).value()
            #expect(rest == ["cookies": [:]])
        }
    }

    @Test(arguments: ["gzip", "deflate"])
    func `Compressed responses are decoded`(_ coding: String) async throws {
        try await withTools { _ in
            let value = try await APIRequest<JSONValue>("/\(coding)").value()
            #expect(value["method"]?.string == "GET")
        }
    }

    @Test func `Basic authentication succeeds with the header, and fails without`() async throws {
        try await withTools { _ in
            let credentials = Data("ada:pass word".utf8).base64EncodedString()
            let user = try await APIRequest<JSONValue>(
                "/basic-auth/{name}/{password}",
                params: ["name": "ada", "password": "pass word"],
                headers: ["Authorization": "Basic \(credentials)"]
            ).value()
            #expect(user == ["authenticated": true, "user": "ada"])
            let error = await #expect(throws: APIError.self) {
                try await APIRequest<Void>("/basic-auth/ada/secret").value()
            }
            #expect(error?.type == .loginExpired && error?.status == 401)
        }
    }

    @Test func `A status is a failure with a type, or a value where the request accepts it`() async throws {
        try await withTools { _ in
            let error = await #expect(throws: APIError.self) { try await APIRequest<Void>("/status/418").value() }
            #expect(error?.type == .http && error?.status == 418)
            let missing = APIRequest<JSONValue?>("/status/404", options: .init(acceptedStatuses: [404]))
            let value = try await missing.value()
            #expect(value == nil)
        }
    }

    @Test func `A slow response is cancelled before its first byte and while it arrives`() async throws {
        try await withTools { proxy in
            let begin = ContinuousClock.now
            let screen = RequestRecorder()
            let slow = APIRequest<Void>("/delay/9", delegate: screen)
            proxy.cancelRequest(slow.loadData())
            let ending = await screen.ending()
            #expect(ending == .cancelled)

            let drip = APIRequest<Data>("/drip", params: ["duration": 60, "numbytes": 60, "delay": 0])
            let error = await #expect(throws: APIError.self) {
                try await drip.value { _ in drip.cancelAllRequests() }
            }
            #expect(error?.type == .cancelled)
            #expect(ContinuousClock.now - begin < .seconds(30))
        }
    }

    @Test func `A response that drips is within the timeout, and one that is silent is not`() async throws {
        try await withTools { _ in
            let drip: APIParams = ["duration": 5, "numbytes": 50, "delay": 0]
            let bytes = try await APIRequest<Data>("/drip", params: drip, timeout: .seconds(4)).value()
            #expect(bytes == Data(repeating: UInt8(ascii: "*"), count: 50))
            let error = await #expect(throws: APIError.self) {
                try await APIRequest<Void>("/delay/5", timeout: .milliseconds(200)).value()
            }
            #expect(error?.type == .timeout)
        }
    }

    @Test func `Bytes are downloaded into a file, with progress`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        try await withTools { _ in
            var fractions: [Double] = []
            let download = APIRequest<DownloadedFile>(
                "/bytes/{count}",
                params: ["count": 100_000, "seed": 1],
                destination: .file(file)
            )
            let downloaded = try await download.value { fractions += $0.fractionCompleted.map { [$0] } ?? [] }
            #expect(try Data(contentsOf: downloaded.url).count == 100_000)
            #expect(fractions.last == 1)
        }
    }

    @Test func `A multipart form arrives as its fields and its files`() async throws {
        try await withTools { _ in
            let echo = try await APIRequest<JSONValue>(
                "/post",
                method: .post,
                params: ["title": "Träume", "tags": ["a", "b"]],
                requestSerializer: .multipart
            ) { form in
                form.append(Data("hello".utf8), name: "note", filename: "note.txt", contentType: "text/plain")
            }.value()
            #expect(echo["form"] == ["title": "Träume", "tags[]": ["a", "b"]])
            #expect(echo["files"] == ["note": "hello"])
        }
    }

    @Test func `Parameters arrive in the query, in a form and in JSON`() async throws {
        try await withTools { _ in
            let query = try await APIRequest<JSONValue>("/get", params: ["text": "a+b & c", "page": 2]).value()
            #expect(query["args"] == ["text": "a+b & c", "page": "2"])
            let form = try await APIRequest<JSONValue>(
                "/put",
                method: .put,
                params: ["text": "a+b & c", "tags": ["a", "b"]],
                requestSerializer: .form.encoding(ParamEncoding(arrays: .repeated))
            ).value()
            #expect(form["form"] == ["text": "a+b & c", "tags": ["a", "b"]])
            let json = try await APIRequest<JSONValue>(
                "/patch",
                method: .patch,
                params: [
                    "filter": ["category": 7, "shop": "a", "vendor": nil] as APIParams,
                    "sort": ["price", nil, 1] as JSONValue,
                ]
            ).value()
            let filter: JSONValue = ["category": 7, "shop": "a", "vendor": nil]
            #expect(json["json"] == ["filter": filter, "sort": ["price", nil, 1]])
        }
    }

    @Test func `A DELETE has a body, and a PUT has parameters beside its bytes`() async throws {
        try await withTools { _ in
            let removed = try await APIRequest<JSONValue>(
                "/delete",
                method: .delete,
                params: ["ids": [1, 2]],
                requestSerializer: .json.placing(.body)
            ).value()
            #expect(removed["json"] == ["ids": [1, 2]] && removed["args"] == [:])
            let stored = try await APIRequest<JSONValue>(
                "/put",
                method: .put,
                params: ["name": "a.txt"],
                requestSerializer: .raw(.data(Data("hello".utf8)), contentType: "text/plain")
            ).value()
            #expect(stored["data"] == "hello" && stored["args"] == ["name": "a.txt"])
            #expect(stored["headers"]?["Content-Type"] == "text/plain")
        }
    }

    @Test func `The environment of a service is switched while the app runs`() async throws {
        let server = try await PythonServer.httpbinURL()
        let production = APIEnvironment("production", baseURL: server.appending(path: "anything"))
        let staging = APIEnvironment(
            "staging",
            baseURL: server.appending(path: "anything/staging"),
            headers: ["X-Stage": "1"]
        )
        var service = APIService(environment: production)
        service.envelope = nil
        let proxy = APIProxy(service: service)
        let books = APIRequest<JSONValue>("/books", proxy: proxy)
        let real = try await books.value()
        #expect(real["url"]?.string?.hasSuffix("/anything/books") == true && real["headers"]?["X-Stage"] == nil)
        proxy.defaultService?.environment = staging
        let staged = try await books.value()
        #expect(staged["url"]?.string?.hasSuffix("/anything/staging/books") == true)
        #expect(staged["headers"]?["X-Stage"] == "1")
    }

    @Test func `A body is streamed, with and without a length`() async throws {
        try await withTools { _ in
            let lines = (1...2_000).map { "line \($0)\n" }
            let text = JSONValue.string(lines.joined())
            let stored = try await APIRequest<JSONValue>(
                "/put",
                method: .put,
                requestSerializer: .raw(.stream { recording(lines) }, contentType: "text/plain")
            ).value()
            #expect(stored["data"] == text && stored["headers"]?["Transfer-Encoding"] == "chunked")

            let length = lines.joined().utf8.count
            let echo = try await APIRequest<JSONValue>("/post", method: .post, requestSerializer: .multipart) { form in
                let stream = HTTPBody.Stream(length: Int64(length)) { recording(lines) }
                form.append(stream: stream, name: "clip", filename: "clip.txt")
            }.value()
            #expect(echo["files"] == ["clip": text] && echo["headers"]?["Transfer-Encoding"] == nil)
        }
    }
}

/// Returns the bytes of a text line by line.
nonisolated private func recording(_ lines: [String]) -> AsyncStream<Data> {
    AsyncStream { continuation in
        for line in lines { continuation.yield(Data(line.utf8)) }
        continuation.finish()
    }
}
