import Errand
import Foundation

extension Walk {
    /// Scrolls to the end of the orders; none may be missing, repeated or misplaced.
    func scrollThroughOrders() async throws {
        let screen = OrdersScreen(app)
        screen.appear()
        try await screen.content()
        let numbers = screen.orders.map(\.id)
        let expected = Array((202_600_001...202_600_137).reversed())
        try expect(numbers.count == 137, "137 orders were expected, \(numbers.count) received")
        try expect(numbers == expected, "the orders are not those that were expected, or not in their order")
        let pages = app.wire.exchanges.compactMap { $0.path.split(separator: "?").last }
        try expect(pages == (1...7).map { "page=\($0)&pageSize=20" }, "the pages were not requested one by one")
    }

    /// Loads all orders with each strategy.
    ///
    /// An order is placed while each list is loaded, which moves all others by one; none may be missing or repeated.
    func listOrdersInFourWays() async throws {
        var table = Table(.left("Way"), .right("Pages"), .right("Orders"), .right("Newest"), .right("Oldest"))
        let proxy = app.proxy
        try await list(OrdersByNumberRequest(proxy: proxy), by: "number", placedBefore: 0, &table)
        try await list(OrdersByOffsetRequest(proxy: proxy), by: "offset", placedBefore: 1, &table)
        try await list(OrdersByCursorRequest(proxy: proxy), by: "cursor", placedBefore: 2, &table)
        try await list(OrdersByLinkRequest(proxy: proxy), by: "link", placedBefore: 3, &table)
        app.terminal.write(table)
    }

    private func list<List: APIManager & PagedManager>(
        _ list: List,
        by way: String,
        placedBefore placed: Int,
        _ table: inout Table
    ) async throws where List.Item == Order {
        var pages = 0
        for try await _ in list.pages() {
            pages += 1
            if pages == 1 { try await debugging.placeOrder(of: app.account) }
        }
        let numbers = list.items.map(\.id)
        table.add(way, "\(pages)", "\(numbers.count)", "\(numbers.first ?? 0)", "\(numbers.last ?? 0)")
        let expected = Array((202_600_001...202_600_137 + placed).reversed())
        try expect(
            numbers.count == expected.count,
            "\(expected.count) orders were expected by \(way), \(numbers.count) received"
        )
        try expect(numbers == expected, "by \(way) an order is missing, repeated or misplaced")
    }

    /// Scrolls through the orders until a page fails, and loads that page again.
    func retryPage() async throws {
        try await debugging.breakOrders(of: app.account, after: 2)
        let screen = OrdersScreen(app)
        screen.appear()
        let error = try await screen.failure()
        try expect(
            error.status == 500 && screen.orders.count == 40,
            "\(screen.orders.count) orders were left by \(error)"
        )
        screen.tapRetry()
        try await screen.content()
        let expected = Array((202_600_001...202_600_141).reversed())
        try expect(screen.orders.map(\.id) == expected, "an order is missing, repeated or misplaced")
        let pages = app.wire.exchanges.compactMap { $0.path.firstMatch(of: /page=(\d+)/)?.1 }
        try expect(pages == ["1", "2", "3", "3", "4", "5", "6", "7", "8"], "the pages were requested as \(pages)")
    }

    /// Downloads an invoice, a PDF file of one mebibyte, which must be complete.
    func downloadInvoice() async throws {
        let screen = InvoiceScreen(app, order: 202_600_137)
        screen.appear()
        try await screen.content()
        guard let file = screen.file else { throw StepFailure("there is no file") }
        try expect(file.count == 1 << 20, "the invoice has \(file.count) bytes")
        try expect(file.starts(with: Data("%PDF-".utf8)), "the invoice does not begin as PDF files do")
        try expect(file.suffix(6) == Data("%%EOF\n".utf8), "the invoice does not end as PDF files do")
        try expect(file.range(of: Data("(Invoice 202600137)".utf8)) != nil, "it is the invoice of another order")
        try expect(screen.progress.count > 1, "the progress was not seen on its way")
        try screen.progress.expectWhole(atLeast: file.count)
    }

    /// Pauses the download of a large invoice, continues it in another process, which is killed, and continues it here: each
    /// receives the rest alone.
    func continueInvoice() async throws {
        let screen = InvoiceFileScreen(app, file: folder.file("invoice.pdf"))
        let stored = { DownloadedFile.partialProgress(of: screen.file)?.completedBytes ?? 0 }
        screen.appear(pausingAfter: 2 << 20)
        guard case .cancelled = try await screen.update() else { throw StepFailure("the screen heard no cancel") }
        await app.wire.settle()
        let (paused, size) = (stored(), Int64(InvoiceFileScreen.size))
        try expect(paused >= 2 << 20 && paused < size, "\(paused) bytes were kept of the paused download")
        try app.proxy.cookies.flush()
        try await SecondStart.run(["download", "--file", screen.file.path] + childOptions) {
            stored() >= paused + 2 << 20
        }
        let killed = stored()
        try expect(killed >= paused + 2 << 20 && killed < size, "\(killed) bytes were kept of the killed process")
        app.terminal.write("   (killed at \(killed) bytes)")
        screen.tapContinue()
        try await screen.content()
        let file = try Data(contentsOf: screen.file)
        try expect(file.count == size, "the invoice has \(file.count) bytes")
        try expect(file.suffix(6) == Data("%%EOF\n".utf8), "the invoice does not end as PDF files do")
        try expect(app.wire.exchanges.map(\.status) == [nil, 206], "the rest was not requested")
        try expect(screen.progress.allSatisfy { $0.completedBytes > killed }, "the progress began again")
        try expect(DownloadedFile.partialProgress(of: screen.file) == nil, "a part was left")
    }

    /// Follows an order by events; the connection is lost once, and no event with it.
    func followOrder() async throws {
        let screen = OrderWayScreen(app)
        screen.appear(order: 202_600_136)
        try await screen.content()
        try expect(screen.stations == [1, 2, 3], "the stations were \(screen.stations)")
        try expect(app.wire.exchanges.map(\.status) == [200, 200, 204], "the stream was not requested again")
    }

    /// Shows a text while it grows.
    func askAssistant() async throws {
        var (text, lines) = ("", 0)
        for try await part in AssistantRequest(proxy: app.proxy).elements(params: ["text": "When does it arrive?"]) {
            text += part
            lines += 1
            app.terminal.write("   \(text.printable)")
        }
        try expect(text == "It ships today, and arrives on Friday.", "the text was \(text)")
        try expect(lines == 7, "the text arrived in \(lines) parts")
        await app.wire.settle()
    }
}
