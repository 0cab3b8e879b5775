import Errand
import Foundation

/// What the app makes once, at its start, and hands to its screens.
@MainActor struct App {
    let baseURL: URL
    let proxy: APIProxy
    let account: Account
    let wire = Wire()
    let terminal = Terminal()

    /// Starts the app for the shop at `baseURL`; what `cookieFile` holds is all that it knows of an earlier start.
    init(baseURL: URL, cookieFile: URL) {
        self.baseURL = baseURL
        proxy = APIProxy(transport: wire, cookies: CookieJar(file: cookieFile))
        account = Account(proxy: proxy)
        proxy.defaultService = .shop(at: baseURL, account: account)
    }

    /// Shows what went over the wire since the log began.
    func showWire() {
        guard !wire.exchanges.isEmpty else { return }
        terminal.write()
        terminal.write(Table(wire.exchanges), .quiet)
    }
}
