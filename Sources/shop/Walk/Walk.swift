import Errand
import Foundation

/// The walk through the shop, step by step; each step checks actual values and throws when one is wrong.
@MainActor struct Walk {
    /// One part of the walk, which acts as a customer and throws when a result is wrong.
    private typealias Step = (name: String, body: @MainActor () async throws -> Void)

    private static let stepLimit = Duration.seconds(30)

    let app: App
    let debugging: ServerDebugging
    let folder: TemporaryFolder
    /// How many product pictures the customer looks at.
    let pictureCount: Int

    private var steps: [Step] {
        [
            ("Sign in", signIn),
            ("Goods list", listGoods),
            ("Cart", fillCart),
            ("Orders, page by page", scrollThroughOrders),
            ("Orders in four ways, one placed meanwhile", listOrdersInFourWays),
            ("A page that fails, and its retry", retryPage),
            ("Avatar upload", uploadAvatar),
            ("Invoice download", downloadInvoice),
            ("A slow request, cancelled by its ID", cancelSlowRequest),
            ("Expired session, HTTP 401", { try await expireSession(as: .http) }),
            ("Expired session, errcode 11010", { try await expireSession(as: .envelope) }),
            ("Errors and a timeout", meetTroubles),
            ("Signed requests, a copy, and a wrong clock", signRequests),
            ("Sealed payments, whose key expires", sealPayments),
            ("An invoice, paused, killed and continued", continueInvoice),
            ("An order on its way, as events", followOrder),
            ("A text that grows", askAssistant),
            ("Product pictures", browsePictures),
            ("A new process, still signed in", startAgain),
            ("A new process without a network", listGoodsOffline),
            ("Sign out", signOut),
        ]
    }

    /// Runs the steps in order until one fails.
    ///
    /// - Throws: ``StepFailure`` with the name of the step and the reason.
    func run() async throws {
        let start = ContinuousClock.now
        app.terminal.write("A walk through the shop at \(app.baseURL.absoluteString)")
        for (index, step) in steps.enumerated() {
            app.terminal.write()
            app.terminal.write("\(index + 1). \(step.name)", .title)
            try await take(step, number: index + 1)
        }
        let seconds = (start.duration(to: .now) / .milliseconds(100)).rounded() / 10
        app.terminal.write()
        app.terminal.write("All \(steps.count) steps held, in \(seconds) s.", .good)
    }

    private func take(_ step: Step, number: Int) async throws {
        app.wire.forget()
        do {
            try await run(step)
            app.showWire()
        } catch {
            app.showWire()
            throw StepFailure("step \(number) (\(step.name)) did not hold: \(error)")
        }
    }

    /// Runs a step; cancels it after the limit or when the calling task is cancelled.
    private func run(_ step: Step) async throws {
        let work = Task { try await step.body() }
        let watchdog = Task {
            try await Task.sleep(for: Self.stepLimit)
            work.cancel()
        }
        defer { watchdog.cancel() }
        do {
            try await withTaskCancellationHandler {
                try await work.value
            } onCancel: {
                work.cancel()
            }
        } catch {
            guard work.isCancelled, !Task.isCancelled else { throw error }
            throw StepFailure("it did not end within \(Self.stepLimit)")
        }
    }

    /// The file with the app's cookies, all that the app keeps when its process ends.
    var cookieFile: URL { folder.file("cookies.txt") }

    /// What a second start is told.
    var childOptions: [String] { ["--base-url", app.baseURL.absoluteString, "--cookies", cookieFile.path] }

    /// The session's cookie in the jar.
    var sessionCookie: Cookie? {
        app.proxy.cookies.cookies(for: app.baseURL).first { $0.name == "sid" }
    }

    /// Shows counts from the server's log.
    func show(_ counts: KeyValuePairs<String, Int>) {
        var table = Table(.left("On the server"), .right("Count"))
        for (name, count) in counts { table.add(name, "\(count)") }
        app.terminal.write(table)
    }
}

/// Why a step failed, as a sentence.
struct StepFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Checks a condition.
///
/// - Throws: ``StepFailure`` with the sentence when the condition is false.
func expect(_ holds: Bool, _ otherwise: @autoclosure () -> String) throws(StepFailure) {
    guard holds else { throw StepFailure(otherwise()) }
}

extension [TransferProgress] {
    /// Checks that the reports of progress increase to the total, which is at least `count` bytes.
    func expectWhole(atLeast count: Int) throws(StepFailure) {
        guard let last, let total = last.totalBytes else {
            throw StepFailure("there was no progress, or none of a known whole")
        }
        let bytes = map(\.completedBytes)
        try expect(zip(bytes, bytes.dropFirst()).allSatisfy(<=), "the progress went back")
        try expect(last.completedBytes == total, "the progress ended at \(last.completedBytes) of \(total) bytes")
        try expect(
            total >= Int64(count),
            "the whole of the progress is \(total) bytes, of which \(count) are the file's"
        )
    }
}
