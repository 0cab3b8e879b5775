import Errand

/// What the screens of this app have in common: a terminal to show things on, and a way for the walk to wait for it.
///
/// A screen adopts the delegate protocols itself; nothing here knows of its requests.
@MainActor class Screen {
    /// What a screen has come to show.
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

    /// Shows what a request has brought, as a table.
    func show(_ content: Table) {
        app.terminal.write(content)
        news.yield(.content)
    }

    /// Shows a line of text.
    func show(_ content: String) {
        app.terminal.write("   " + content.printable)
        news.yield(.content)
    }

    /// Shows why there is nothing to show, in the words that are meant for the user.
    func show(_ error: APIError) {
        app.terminal.write("   \(error.message.printable)  (\(error))")
        news.yield(.failure(error))
    }

    /// Shows that the user has changed their mind.
    func showCancelled() {
        app.terminal.write("   (cancelled)")
        news.yield(.cancelled)
    }

    /// What the screen shows next, waited for.
    func update() async throws -> Update {
        for await update in updates { return update }
        throw CancellationError()
    }
}

extension Screen {
    /// Waits for content.
    func content() async throws {
        switch try await update() {
        case .content: return
        case .failure(let error): throw StepFailure("a request failed: \(error)")
        case .cancelled: throw StepFailure("a request was cancelled")
        }
    }

    /// Waits for a failure.
    func failure() async throws -> APIError {
        guard case .failure(let error) = try await update() else { throw StepFailure("a request did not fail") }
        return error
    }
}
