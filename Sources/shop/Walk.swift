import Errand
import Foundation

/// The walk through the shop, step by step; each step checks actual values and throws when one is wrong.
@MainActor struct Walk {
    private static let stepLimit = Duration.seconds(30)

    let app: App
    let debugging: ServerDebugging
    let folder: TemporaryFolder

    private var steps: [Step] {
        [
            Step("Sign in", signIn),
            Step("Goods list", listGoods),
            Step("Cart", fillCart),
            Step("Orders, page by page", scrollThroughOrders),
            Step("Orders in four ways, one placed meanwhile", listOrdersInFourWays),
            Step("A page that fails, and its retry", retryPage),
            Step("Avatar upload", uploadAvatar),
            Step("Invoice download", downloadInvoice),
            Step("A slow request, cancelled by its ID", cancelSlowRequest),
            Step("Expired session, HTTP 401") { try await expireSession(as: .http) },
            Step("Expired session, errcode 11010") { try await expireSession(as: .envelope) },
            Step("Errors and a timeout", meetTroubles),
            Step("Signed requests, a copy, and a wrong clock", signRequests),
            Step("Sealed payments, whose key expires", sealPayments),
            Step("A new process, still signed in", startAgain),
            Step("Sign out", signOut),
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
            try await step.run(within: Self.stepLimit)
            app.showWire()
        } catch {
            app.showWire()
            throw StepFailure("step \(number) (\(step.name)) did not hold: \(error)")
        }
    }

    /// The file with the app's cookies, all that the app keeps when its process ends.
    var cookieFile: URL { folder.file("cookies.txt") }

    /// The session's cookie in the jar.
    var sessionCookie: Cookie? {
        app.proxy.cookies.cookies(for: app.baseURL).first { $0.name == "sid" }
    }
}
