// Exit tests need child processes.
#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("The redactor of the process", .hangLimit, .timeLimit(.minutes(10)))
struct SharedRedactorTests {
    @Test func `Names that an app adds are shown by everything that prints, also if it was made before`() async {
        // In a separate process, because all tests of one share its redactor.
        await #expect(processExitsWith: .success) {
            let lines = Lock("")
            let log = APILog(.exchanges, showing: [.queries, .headers, .bodies]) { line in
                lines.withLock { $0 += line + "\n" }
            }
            let url = URL("https://shop.test/?page=2&token=s3cret")
            let headers: HTTPHeaders = ["X-Page": "two", "Content-Type": "application/json"]
            let body = HTTPBody.data(Data(#"{"total":7,"pin":"s3cret"}"#.utf8))
            let request = HTTPRequest(.post, url, headers: headers, body: body)
            let position = PagePosition.link(url)
            let texts = {
                lines.withLock { $0 = "" }
                log.observe(APIEvent(.requestMade(request), id: .next()))
                return [
                    lines.withLock(\.self), try request.curlCommand(), "\(request)\(request.headers)", "\(position)",
                    "\(APIService(baseURL: url))",
                ]
            }
            for text in try texts() { #expect(!text.contains("page=2") && !text.contains("two"), "\(text)") }
            Redactor.shared.shownQueryNames = ["page"]
            Redactor.shared.shownHeaderNames = ["X-Page"]
            Redactor.shared.shownMemberNames = ["total"]
            let shown = try texts()
            for text in shown { #expect(text.contains("page=2") && !text.contains("s3cret"), "\(text)") }
            for text in shown.prefix(3) { #expect(text.contains("X-Page: two"), "\(text)") }
            for text in shown.prefix(2) { #expect(text.contains(#""total":7"#), "\(text)") }
        }
    }
}
#endif
