import ErrandTesting
import FixtureServer
import Foundation
import Observation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("What is shown first is that of the newest load", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheFirstTests {
    private typealias Scene = CacheRuleScene

    @Test func `Nothing is shown any more when nothing is stored for the newest load`() async throws {
        let (scene, screen) = (try Scene { Scene.version($1, "no-store") }, CacheScreen())
        #expect(await scene.load(.first, params: ["of": "a"]) == "v1 network")
        scene.server.stop()
        let request = scene.request(.first, delegate: screen)
        let cases: [(APIParams, String?)] = [(["of": "a"], "v1"), (["of": "b"], nil), (["of": "a"], "v1")]
        for (params, shown) in cases {
            request.loadData(params: .given(params))
            #expect(await screen.ending() == .failure(.transport))
            #expect(request.cachedResponse == shown)
        }
        #expect(screen.shown.map(\.text) == ["v1", "v1"])
        #expect(scene.violations == [])
    }

    @Test func `A stored response is not shown to the delegate for an async call`() async throws {
        let (scene, screen) = (try Scene { Scene.version($1) }, CacheScreen())
        #expect(await scene.load(.first) == "v1 network")
        let request = scene.request(.first, delegate: screen)
        #expect(try await request.value() == "v2")
        #expect(screen.shown.isEmpty && request.cachedResponse == "v1")
    }

    /// Code of the app that runs between the lookup and the delegate.
    enum Hook: CaseIterable {
        case validator, reform, observer
    }

    private final class Cancelling: SampleRequest, APIManager {
        typealias Response = String
        var cancelsInReform = false

        func reformData(_ response: String) -> String {
            if cancelsInReform { cancelAllRequests() }
            return response
        }
    }

    @Test(.fault(74), arguments: Hook.allCases)
    func `What a cancel of the load precedes is not shown`(_ hook: Hook) async throws {
        let (scene, screen, gate) = (try Scene { Scene.version($1) }, CacheScreen(), Gate())
        defer { gate.open() }
        #expect(await scene.load(.first) == "v1 network")
        let request = Cancelling(delegate: screen, proxy: scene.proxy)
        (request.customService, request.method, request.path) = (scene.service, .get, "/goods")
        request.ownOptions.cachePolicy = .first
        let validator = ContentValidator { [weak request] _ in
            if hook == .validator { request?.cancelAllRequests() }
            return true
        }
        request.validator = validator
        request.cancelsInReform = hook == .reform
        if hook == .observer {
            withObservationTracking {
                _ = request.cachedResponse
            } onChange: {
                MainActor.assumeIsolated { request.cancelAllRequests() }
            }
        }
        request.loadData()
        #expect(await screen.ending() == .cancelled)
        await sentinel(scene.proxy)
        #expect(screen.log == ["cancelled"])
        #expect(screen.shown.isEmpty)
        #expect(scene.violations == [])
        withExtendedLifetime(validator) {}
    }

    @Test(.fault(20)) func `With concurrent, what an older load finds replaces nothing that a newer one has shown`()
        async throws
    {
        let (arrived, latch, calls) = (Latch(), Latch(), Counter())
        defer { latch.open() }
        let (scene, screen) = (try Scene { Scene.version($1, "no-store") }, CacheScreen())
        #expect(await scene.load(.first, params: ["of": "a"]) == "v1 network")
        #expect(await scene.load(.first, params: ["of": "b"]) == "v2 network")
        // The older load has the headers of its lookup last.
        scene.service.commonHeaders = {
            guard calls.next() == 1 else { return [:] }
            arrived.open()
            await latch.waitIgnoringCancellation()
            return [:]
        }
        let request = ValidatedRequest(delegate: screen, proxy: scene.proxy)
        (request.customService, request.customRestartPolicy) = (scene.service, .concurrent)
        request.ownOptions.cachePolicy = .first
        request.loadData(params: ["of": "a"])
        try await arrived.wait()
        request.loadData(params: ["of": "b"])
        #expect(await screen.ending() == .success)
        #expect(request.cachedResponse == "v2")
        latch.open()
        #expect(await screen.ending() == .success)
        #expect(request.cachedResponse == "v2")
        #expect(request.response == "v3")
        #expect(screen.shown.map(\.text) == ["v2"])
        #expect(scene.violations == [])
    }
}
