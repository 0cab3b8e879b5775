import ErrandTesting
import Testing

@testable import Errand
@testable import ErrandUI
@testable import ErrandTestSupport

@MainActor @Suite("Loads that share an indicator are counted")
struct SharedIndicatorTests {
    /// An indicator as those of UIKit: shown or hidden, without a counter.
    private final class Spinner: LoadingIndicator {
        private(set) var changes: [Bool] = []

        func showLoading(_ message: String?) {
            if SharedIndicators.add(self) { changes.append(true) }
        }

        func hideLoading() {
            if SharedIndicators.remove(self) { changes.append(false) }
        }
    }

    @Test func `The first load shows the indicator and the last one hides it`() {
        let (spinner, other) = (Spinner(), Spinner())
        spinner.showLoading(nil)
        spinner.showLoading(nil)
        other.showLoading(nil)
        spinner.hideLoading()
        #expect(spinner.changes == [true] && other.changes == [true])
        spinner.hideLoading()
        #expect(spinner.changes == [true, false] && other.changes == [true])
        other.hideLoading()
        #expect(other.changes == [true, false])
    }

    @Test func `A call of hide without one of show does nothing`() {
        let spinner = Spinner()
        spinner.hideLoading()
        spinner.showLoading(nil)
        spinner.hideLoading()
        spinner.hideLoading()
        #expect(spinner.changes == [true, false])
    }

    @Test func `A reload that supersedes another keeps the indicator until it has ended`() async {
        let (spinner, server) = (Spinner(), NumberServer(count: 3))
        let screen = Screen()
        let list = OffsetNumbers(delegate: screen, proxy: APIProxy(fake: server.transport))
        list.reload(indicator: spinner)
        list.reload(indicator: spinner)
        #expect(await screen.endings(2) == [.cancelled, .success])
        #expect(spinner.changes == [true, false])
    }
}
