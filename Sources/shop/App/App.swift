import Errand
import ErrandInspector
import Foundation

/// The objects that the app creates once, at its start, and passes to its screens.
@MainActor struct App {
    let baseURL: URL
    let proxy: APIProxy
    let account: Account
    let transport = StartingLine(before: SystemTransport())
    let wire = Wire()
    let terminal = Terminal()
    private let recorder: HARRecorder?

    /// Starts the app for the shop at `baseURL`; the cookies in `cookieFile` are all that remains of an earlier start.
    ///
    /// - Parameters:
    ///   - baseURL: The URL of the shop.
    ///   - cookieFile: The file with the cookies.
    ///   - recorder: Records the exchanges of all proxies of the app.
    init(baseURL: URL, cookieFile: URL, recorder: HARRecorder? = nil) {
        self.baseURL = baseURL
        self.recorder = recorder
        let monitors: [any APIMonitor] = [wire] + (recorder.map { [$0] } ?? [])
        proxy = APIProxy(transport: transport, cookies: CookieJar(file: cookieFile), monitors: monitors)
        account = Account(proxy: proxy)
        proxy.defaultService = .shop(at: baseURL, account: account)
    }

    /// Returns another proxy on the same connections.
    func proxy(for service: APIService? = nil, clock: any APIClock = SystemClock()) -> APIProxy {
        APIProxy(service: service, transport: transport, clock: clock, monitors: proxy.monitors)
    }

    /// Shows the exchanges in the log.
    func showWire() {
        guard !wire.exchanges.isEmpty else { return }
        terminal.write()
        terminal.write(Table(wire.exchanges), .quiet)
    }
}
