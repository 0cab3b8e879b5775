import Foundation
import Testing

@testable import Errand

@Suite("What is printed of a request holds no secrets", .timeLimit(.minutes(1)))
struct RedactionTests {
    static let headers: HTTPHeaders = [
        "Authorization": "Bearer s3cret", "Proxy-Authorization": "s3cret", "Cookie": "s3cret", "Set-Cookie": "s3cret",
        "X-Api-Key": "s3cret", "X-Token": "s3cret", "X-Signature": "s3cret", "Accept": "text/html",
    ]

    private func printed(_ value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return ["\(value)", String(reflecting: value), dumped]
    }

    @Test(.fault(66)) func `Headers show their names and harmless values`() {
        for text in printed(Self.headers) {
            #expect(!text.contains("s3cret"), "\(text)")
            #expect(text.contains("Authorization: <redacted>"))
            #expect(text.contains("Accept: text/html"))
        }
    }

    @Test(.fault(66)) func `Requests show neither query nor body, answers no body`() {
        let body = HTTPBody.data(Data("s3cret".utf8))
        let request = HTTPRequest(.post, URL("http://a.test/x?token=s3cret"), headers: Self.headers, body: body)
        let response = HTTPResponse(status: 200, headers: Self.headers, body: Data("s3cret".utf8))
        for text in printed(request) + printed(response) { #expect(!text.contains("s3cret"), "\(text)") }
        #expect("\(request)" == "POST http://a.test/x?<redacted>")
    }

    @Test(arguments: ["Location", "content-location", "Refresh", "Referer", "Link"])
    func `Headers show URLs without query, fragment and user`(_ name: String) {
        for secret in ["?code=s3cret", "#access_token=s3cret", "?a=b#s3cret"] {
            let field = HTTPField(name, "https://me:s3cret@a.test/x\(secret)")
            for text in printed(HTTPHeaders([field])) {
                #expect(text.contains("https://<redacted>@a.test/x\(secret.prefix(1))<redacted>"), "\(text)")
                #expect(!text.contains("s3cret"), "\(text)")
            }
        }
        #expect("\(HTTPField(name, "/x?s3cret"))" == "\(name): /x?<redacted>")
        #expect("\(HTTPField("Accept", "a/b?"))" == "Accept: a/b?")
    }

    @Test func `Requests show neither user nor fragment`() {
        let request = HTTPRequest(.get, URL("http://me:s3cret@a.test:8080/x@y#s3cret"))
        for text in printed(request) { #expect(!text.contains("s3cret"), "\(text)") }
        #expect("\(request)" == "GET http://<redacted>@a.test:8080/x@y#<redacted>")
    }

    @Test func `Configurations show neither the password of a key nor that of a proxy`() {
        var configuration = TransportConfiguration()
        let certificate = URL(fileURLWithPath: "/etc/client.p12")
        configuration.tls.clientIdentity = ClientIdentity(
            certificate: certificate,
            password: "s3cret",
            origins: [URL("https://u:s3cret@a.test/s3cret?s3cret")]
        )
        configuration.proxy = .url(URL("http://me:s3cret@proxy.test:3128"))
        for text in printed(configuration) + printed(configuration.tls) + printed(configuration.proxy) {
            #expect(!text.contains("s3cret"), "\(text)")
        }
        for text in printed(configuration) {
            #expect(text.contains("/etc/client.p12"))
            #expect(text.contains("http://<redacted>@proxy.test:3128"))
        }
        let others = [TransportConfiguration.Proxy.environment, .none]
        #expect(others.map { "\($0)" } == ["environment", "none"])
    }
}
