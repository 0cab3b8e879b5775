import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// A download of "new" that replaces a file of "old", stopped at one instant after its last byte.
@MainActor final class DownloadScene {
    /// Every instant between the last byte and the delivery.
    enum Instant: CaseIterable, Sendable {
        case lastByte, transportReturned, decoding, delivering, receiving, validating, reforming, ending

        /// Whether the load is on the main actor at this instant.
        var isOnMainActor: Bool { [.receiving, .validating, .reforming, .ending].contains(self) }
    }

    typealias Manner = LoadCancellationTests.Manner

    let screen = Screen()
    let proxy: APIProxy
    let witness: Witness
    let folder: TemporaryFolder
    private let checkpoint = Checkpoint()
    // The server stops when it is released.
    private let server: FixtureServer
    private let interceptor = InterceptorSpy()
    private let validator = ValidatorSpy()
    private var request: DownloadRequest?
    private var caller: Task<APIErrorType?, Never>?
    private var work: Task<Void, Never>?

    init(_ instant: Instant, live kind: TransportKind?) throws {
        folder = try TemporaryFolder()
        try Data("old".utf8).write(to: folder.file)
        witness = Witness(folder)
        var service = APIService.sample()
        var transport: any HTTPTransport = ScriptedTransport { _ in .text("new") }
        server = try FixtureServer.start { _ in .bytes(Array("new".utf8)) }
        if let kind {
            service.baseURL = server.baseURL
            transport = try kind.make()
        }
        let held = HeldTransport(base: transport, instant: instant, checkpoint: checkpoint)
        proxy = APIProxy(service: service, transport: held)
        let request = DownloadRequest(delegate: screen, proxy: proxy)
        (request.method, request.target) = (.get, .file(folder.file))
        (request.interceptor, request.validator) = (interceptor, validator)
        if instant == .decoding || instant == .delivering { request.checkpoint = checkpoint }
        self.request = request
    }

    /// Runs the load to the instant, cancels it there, and lets it continue to its end.
    func cancel(at instant: Instant, _ manner: Manner) async {
        if instant.isOnMainActor { onMainActor(instant) { [weak self] in self?.cancel(manner) } }
        begin(manner)
        await suspend(while: !instant.isOnMainActor && !checkpoint.isReached && screen.events.isEmpty)
        if instant == .delivering {
            checkpoint.release()
            // Without a yield, because the delivery waits for the main actor.
            spin(while: proxy.delivery.count == 0)
        }
        work = proxy.loads.tasks.first
        if !instant.isOnMainActor { cancel(manner) }
        await ending(manner)
        checkpoint.release()
        await work?.value
        await sentinel(proxy)
    }

    private func begin(_ manner: Manner) {
        guard manner == .ofTask else {
            request?.loadData(indicator: witness)
            return
        }
        caller = Task { [request, witness] in
            let outcome = await request?.outcome()
            witness.hideLoading()
            return outcome
        }
    }

    private func onMainActor(_ instant: Instant, _ action: @escaping @MainActor () -> Void) {
        switch instant {
        case .receiving: interceptor.onCall = { if case .didReceive = $1 { action() } }
        case .ending: interceptor.onCall = { if $1 == .willEnd("success") { action() } }
        case .validating:
            validator.acceptsContent = { _ in
                action()
                return true
            }
        case .reforming: request?.onReform = action
        default: break
        }
    }

    private func cancel(_ manner: Manner) {
        guard let id = proxy.activeRequests.last?.id else { return }
        switch manner {
        case .byID: proxy.cancelRequest(id)
        case .fromAnotherThread:
            let end = DispatchSemaphore(value: 0)
            Thread { [proxy] in
                proxy.cancelRequest(id)
                end.signal()
            }.start()
            end.wait()
        case .ofRequest: request?.cancelAllRequests()
        case .ofProxy: proxy.cancelAllRequests()
        case .byRelease: request = nil
        case .ofTask: caller?.cancel()
        case .byLogout: proxy.logout()
        }
    }

    private func ending(_ manner: Manner) async {
        _ = await caller?.value
        await suspend(while: witness.seen.isEmpty)
    }

    /// Records the contents of the folder when the load ends.
    final class Witness: LoadingIndicator {
        private(set) var seen: [[String: String]] = []
        private let folder: TemporaryFolder

        init(_ folder: TemporaryFolder) { self.folder = folder }

        func showLoading(_ message: String?) {}
        func hideLoading() { seen.append(folder.contents) }
    }
}

/// A download whose steps on and off the main actor can be stopped.
final class DownloadRequest: SampleRequest, APIManager {
    typealias Response = DownloadedFile
    var target = HTTPRequest.Destination.memory
    var checkpoint: Checkpoint?
    var refusal: APIError?
    var onReform: (@MainActor () -> Void)?

    override var destination: HTTPRequest.Destination { target }

    var responseSerializer: ResponseSerializer<DownloadedFile> {
        ResponseSerializer { [checkpoint, refusal] response, service in
            checkpoint?.pass()
            if let refusal { throw refusal }
            return try ResponseSerializer.file.value(of: response, from: service)
        }
    }

    func reformData(_ response: DownloadedFile) -> DownloadedFile {
        onReform?()
        return response
    }
}

/// A transport that waits after its last byte, or before it returns.
private struct HeldTransport: HTTPTransport {
    let base: any HTTPTransport
    let instant: DownloadScene.Instant
    let checkpoint: Checkpoint

    func send(_ request: HTTPRequest, progress: TransferProgress.Handler?) async throws(TransportError) -> HTTPResponse
    {
        let response = try await base.send(request) { [instant, checkpoint] report in
            if instant == .lastByte, report.direction == .download { checkpoint.pass() }
            progress?(report)
        }
        if instant == .transportReturned { checkpoint.pass() }
        return response
    }
}

extension TemporaryFolder {
    /// The files of the folder by name, with their text; empty for a folder.
    var contents: [String: String] {
        let names = (try? names) ?? []
        return Dictionary(
            uniqueKeysWithValues: names.map { name in
                (name, (try? String(contentsOf: url.appending(path: name), encoding: .utf8)) ?? "")
            }
        )
    }
}
