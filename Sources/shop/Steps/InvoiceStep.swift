import Foundation

extension Walk {
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
}
