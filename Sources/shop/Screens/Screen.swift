import Errand

/// The base class of the app's screens: shows content in the terminal, and lets the walk wait for it.
///
/// A screen adopts the delegate protocols itself; this class does not depend on its requests.
@MainActor class Screen {
    /// A change of the screen.
    enum Update {
        case content
        case failure(APIError)
        case cancelled
    }

    let app: App
    private let (updates, news) = AsyncStream.makeStream(of: Update.self)

    init(_ app: App) {
        self.app = app
    }

    /// Shows the result of a request as a table.
    func show(_ content: Table) {
        app.terminal.write(content)
        news.yield(.content)
    }

    /// Shows a line of text.
    func show(_ content: String) {
        app.terminal.write("   " + content.printable)
        news.yield(.content)
    }

    /// Shows an error with its message for the user.
    func show(_ error: APIError) {
        app.terminal.write("   \(error.message.printable)  (\(error))")
        news.yield(.failure(error))
    }

    /// Shows that the user has cancelled.
    func showCancelled() {
        app.terminal.write("   (cancelled)")
        news.yield(.cancelled)
    }

    /// Waits for the next change of the screen.
    func update() async throws -> Update {
        for await update in updates { return update }
        throw CancellationError()
    }

    /// Waits for content; throws ``StepFailure`` for another change.
    func content() async throws {
        switch try await update() {
        case .content: await app.wire.settle()
        case .failure(let error): throw StepFailure("a request failed: \(error)")
        case .cancelled: throw StepFailure("a request was cancelled")
        }
    }

    /// Waits for a failure; throws ``StepFailure`` for another change.
    func failure() async throws -> APIError {
        guard case .failure(let error) = try await update() else { throw StepFailure("a request did not fail") }
        await app.wire.settle()
        return error
    }
}
