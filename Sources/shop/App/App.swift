import Errand
import Foundation

/// The objects that the app creates once, at its start, and passes to its screens.
@MainActor struct App {
    let baseURL: URL
    let proxy: APIProxy
    let account: Account
    let transport: any HTTPTransport = DefaultTransport.make()
    let wire = Wire()
    let line = StartingLine()
    let terminal = Terminal()

    /// Starts the app for the shop at `baseURL`; the cookies in `cookieFile` are all that remains of an earlier start.
    init(baseURL: URL, cookieFile: URL) {
        self.baseURL = baseURL
        proxy = APIProxy(transport: transport, cookies: CookieJar(file: cookieFile), monitors: [wire])
        account = Account(proxy: proxy)
        proxy.defaultService = .shop(at: baseURL, account: account, line)
    }

    /// Returns another proxy on the same connections.
    func proxy(for service: APIService? = nil, clock: any APIClock = SystemClock()) -> APIProxy {
        APIProxy(service: service, transport: transport, clock: clock, monitors: [wire])
    }

    /// Shows the exchanges in the log.
    func showWire() {
        guard !wire.exchanges.isEmpty else { return }
        terminal.write()
        terminal.write(Table(wire.exchanges), .quiet)
    }
}
