import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A cache and redirects", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheRedirectTests {
    private typealias Scene = CacheRuleScene

    /// `/goods` redirects to `/target`, which `respond` responds for.
    private func makeScene(
        _ status: Int = 302,
        to target: String = "/target",
        _ respond: @escaping @Sendable (RecordedRequest, Int) -> Response
    ) throws -> Scene {
        try Scene { request, number in
            request.path == "/goods" ? .status(status, headers: ["Location": target]) : respond(request, number)
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `A response behind a redirect is stored under its own URL, and found there`(_ status: Int) async throws {
        let scene = try makeScene(status) { Scene.version($1) }
        let request = scene.request()
        #expect(await scene.outcome(of: request) == "v2 network")
        scene.clock.advance(by: .seconds(7))
        #expect(await scene.outcome(of: request) == "v2 cache")
        #expect(request.rawResponse?.redirects.map(\.path) == ["/goods"])
        #expect(request.rawResponse?.url.path == "/target")
        #expect(request.rawResponse?.age == .seconds(7))
        #expect(await scene.load(.http, "/target") == "v2 cache")
        #expect(scene.sent == 3, "the redirect is asked for each time")
        let steps = scene.events.steps(of: scene.events.ids.dropLast().last).filter { !["sent", "head"].contains($0) }
        #expect(steps == ["began", "missed absent", "started", "made", "redirected \(status)", "cached", "success"])
        #expect(scene.violations == [])
    }

    @Test func `A response that was loaded from its own URL is found behind a redirect`() async throws {
        let scene = try makeScene(to: "/other") { request, number in
            request.path == "/other" ? .status(307, headers: ["Location": "/target"]) : Scene.version(number)
        }
        #expect(await scene.load(.http, "/target") == "v1 network")
        let request = scene.request()
        #expect(await scene.outcome(of: request) == "v1 cache")
        #expect(request.rawResponse?.redirects.map(\.path) == ["/goods", "/other"])
        #expect(scene.sent == 3)
    }

    @Test func `A stale response behind a redirect is confirmed at its own URL`() async throws {
        let scene = try makeScene { request, number in
            request.header("If-None-Match") == nil
                ? Scene.version(number, "max-age=60", ["ETag": "\"a\""]) : .status(304)
        }
        #expect(await scene.load() == "v2 network")
        scene.clock.advance(by: .seconds(61))
        #expect(await scene.load() == "v2 validated")
        #expect(await scene.load() == "v2 cache")
        #expect(await scene.load(.reload) == "v2 validated")
        let conditions = scene.server.requests.map { $0.header("If-None-Match") ?? "-" }
        #expect(conditions == ["-", "-", "-", "\"a\"", "-", "-", "\"a\""])
    }

    @Test func `A stale response behind a redirect is used while it is validated, and in place of an error`()
        async throws
    {
        let control = "max-age=1, stale-while-revalidate=10, stale-if-error=100"
        let scene = try makeScene { _, number in number < 6 ? Scene.version(number, control) : .status(503) }
        let request = scene.request()
        #expect(await scene.outcome(of: request) == "v2 network")
        scene.clock.advance(by: .seconds(2))
        #expect(await scene.outcome(of: request) == "v2 cache")
        await scene.settle()
        #expect(scene.sent == 5)
        #expect(await scene.outcome(of: request) == "v5 cache")
        scene.clock.advance(by: .seconds(50))
        #expect(await scene.outcome(of: request) == "v5 cache")
        #expect(request.rawResponse?.redirects.map(\.path) == ["/goods"])
        #expect(scene.sent == 8, "nothing is revalidated after an error")
        #expect(scene.violations == [])
    }

    @Test func `The conditions of what is stored are not sent to where a redirect leads`() async throws {
        let date: HeaderLines = ["Last-Modified": "Tue, 14 Nov 2023 22:13:20 GMT"]
        let scene = try Scene { request, number in
            switch (request.path, number) {
            case ("/goods", 1): Scene.version(1, "max-age=1", date)
            case ("/goods", _): .status(302, headers: ["Location": "/other"])
            default: request.header("If-Modified-Since") == nil ? Scene.version(number, "no-store") : .status(304)
            }
        }
        #expect(await scene.load() == "v1 network")
        scene.clock.advance(by: .seconds(2))
        #expect(await scene.load() == "v3 network")
        scene.clock.advance(by: .seconds(2))
        #expect(await scene.load(headers: ["If-Modified-Since": "Tue, 14 Nov 2023 22:13:21 GMT"]) == "http 304")
        #expect(scene.violations == [])
    }

    @Test func `A file behind a redirect is not confirmed by the server of another URL, and not stored`() async throws {
        let scene = try Scene { request, number in
            switch (request.path, number) {
            case ("/goods", 1): Scene.version(1, "max-age=1", ["ETag": "\"a\""])
            case ("/goods", _): .status(302, headers: ["Location": "/other"])
            default: request.header("If-None-Match") == nil ? Scene.version(number) : .status(304)
            }
        }
        #expect(await scene.load() == "v1 network")
        scene.clock.advance(by: .seconds(2))
        let file = scene.folder.url.appending(path: "file")
        for version in ["v5", "v7"] {
            let options = APIRequestOptions(cachePolicy: .http)
            let (target, service, proxy) = (HTTPRequest.Destination.file(file), scene.service, scene.proxy)
            _ = try await APIRequest<DownloadedFile>(
                "/goods",
                destination: target,
                service: service,
                options: options,
                proxy: proxy
            ).value()
            #expect(try String(contentsOf: file, encoding: .utf8) == version)
        }
    }

    @Test func `What is stored behind a redirect and cannot be decoded is loaded again`() async throws {
        let scene = try makeScene { _, number in
            .text(number == 2 ? "old" : "[\(number)]", headers: ["Cache-Control": "max-age=60"])
        }
        #expect(await scene.load() == "old network")
        let options = APIRequestOptions(cachePolicy: .http)
        let request = APIRequest<[Int]>("/goods", service: scene.service, options: options, proxy: scene.proxy)
        #expect(try await request.value() == [5])
        #expect(try await request.value() == [5])
        #expect(scene.sent == 6)
        #expect(scene.violations == [])
    }

    @Test func `A redirect replaces what is stored of the address before`() async throws {
        let scene = try Scene { request, number in
            guard number > 1, request.path == "/goods" else {
                return Scene.version(number, "max-age=60, stale-while-revalidate=1000")
            }
            return .redirect(to: "/others")
        }
        #expect(await scene.load() == "v1 network")
        scene.clock.advance(by: .seconds(61))
        #expect(await scene.load() == "v1 cache")
        await scene.settle()
        #expect(await scene.load() == "v3 cache")
        #expect(scene.sent == 4)
    }

    @Test func `A HEAD that was redirected updates nothing`() async throws {
        let scene = try Scene { request, number in
            guard number > 1, request.path == "/goods" else { return Scene.version(number) }
            return .redirect(to: "/others")
        }
        #expect(await scene.load() == "v1 network")
        scene.clock.advance(by: .seconds(61))
        #expect(await scene.load(method: .head) == " network")
        #expect(await scene.load() == "v5 network")
    }

    @Test(arguments: [404, 200])
    func `A request that was redirected removes what each of its URLs has stored`(_ status: Int) async throws {
        let scene = try Scene { request, number in
            switch (request.method, request.path) {
            case ("POST", "/items"): .status(307, headers: ["Location": "/new"])
            case ("POST", "/new"): .status(303, headers: ["Location": "/items/7"])
            case ("GET", "/items/7"): .text("it", status: status)
            default: Scene.version(number)
            }
        }
        #expect(await scene.load(.http, "/items") == "v1 network")
        #expect(await scene.load(.http, "/new") == "v2 network")
        #expect(await scene.load(.http, "/items") == "v1 cache")
        _ = await scene.load(.http, "/items", method: .post)
        #expect(await scene.load(.http, "/items") == "v6 network")
        #expect(await scene.load(.http, "/new") == "v7 network")
    }

    @Test(arguments: ["max-age=600", "max-age=1, stale-while-revalidate=600"])
    func `A request that may change something is sent once, and has the response of the network`(
        _ control: String
    ) async throws {
        let scene = try Scene { request, number in
            switch request.path {
            case "/pay": .status(303, headers: ["Location": "/hop"])
            case "/hop": .status(302, headers: ["Location": "/list"])
            default: Scene.version(number, control)
            }
        }
        #expect(await scene.load(.http, "/list") == "v1 network")
        scene.clock.advance(by: .seconds(2))
        #expect(await scene.load(.http, "/pay", method: .post) == "v4 network")
        await scene.settle()
        #expect(scene.server.requests.map(\.path) == ["/list", "/pay", "/hop", "/list"])
        #expect(await scene.load(.http, "/list") == "v5 network")
    }

    @Test func `A stored redirect is followed by a load that follows redirects`() async throws {
        let scene = try Scene { request, number in
            request.path == "/goods"
                ? .status(301, headers: ["Location": "/target", "Cache-Control": "max-age=60"]) : Scene.version(number)
        }
        let first = await scene.load {
            $0.redirectPolicy = .refuse
            $0.acceptedStatuses = [301]
        }
        #expect(first == " network")
        #expect(await scene.load() == "v3 network")
    }

    @Test func `A response behind a redirect is stored by a rule under the URL of the request`() async throws {
        let scene = try makeScene { Scene.version($1) }
        #expect(await scene.load(.elseLoad) == "v2 network")
        #expect(await scene.load(.elseLoad) == "v2 cache")
        #expect(await scene.load(.elseLoad, "/target") == "v3 network")
    }
}
