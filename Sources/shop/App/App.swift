import Errand
import Foundation

/// The objects that the app creates once, at its start, and passes to its screens.
@MainActor struct App {
    let baseURL: URL
    let proxy: APIProxy
    let account: Account
    let wire = Wire()
    let terminal = Terminal()

    /// Starts the app for the shop at `baseURL`; the cookies in `cookieFile` are all that remains of an earlier start.
    init(baseURL: URL, cookieFile: URL) {
        self.baseURL = baseURL
        proxy = APIProxy(transport: wire, cookies: CookieJar(file: cookieFile))
        account = Account(proxy: proxy)
        proxy.defaultService = .shop(at: baseURL, account: account)
    }

    /// Shows the exchanges in the log.
    func showWire() {
        guard !wire.exchanges.isEmpty else { return }
        terminal.write()
        terminal.write(Table(wire.exchanges), .quiet)
    }
}
