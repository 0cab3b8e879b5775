import ErrandInspector
import Foundation
import Testing

@testable import Errand

@Suite("Secrets in archives and reports")
struct SecretTests {
    private static let secret = "planted-secret"

    /// Records the secret in every place of an exchange that can have one.
    private func record(in recorder: HARRecorder) {
        let session = Session(recorder)
        let secret = Self.secret
        let url = URL(string: "https://lin:\(secret)@api.shop.example/orders?token=\(secret)#\(secret)") ?? .shop("/")
        let headers: HTTPHeaders = [
            "Authorization": "Bearer \(secret)", "Cookie": "sid=\(secret); \(secret)", "X-Anything": secret,
            "Referer": "https://shop.example/?a=\(secret)", "Content-Type": "application/json",
        ]
        let bodies: [(String, HTTPBody)] = [
            ("application/json", .data(Data(#"{"password":"\#(secret)","nested":{"list":["\#(secret)"]}}"#.utf8))),
            ("application/x-www-form-urlencoded", .data(Data("password=\(secret)&\(secret)".utf8))),
            ("text/plain", .data(Data(secret.utf8))),
            (
                "multipart/form-data; boundary=x",
                HTTPBody([
                    .data(
                        Data("--x\r\nContent-Disposition: form-data; name=a; filename=\(secret)\r\n\r\n\(secret)".utf8)
                    ),
                    .file(URL(filePath: "/tmp/\(secret)")),
                ])
            ),
        ]
        for (number, (type, body)) in bodies.enumerated() {
            let load = UInt64(number + 1)
            var request = HTTPRequest(.post, url, headers: headers, body: body)
            request.headers["Content-Type"] = type
            var response = HTTPResponse(status: 302, body: Data(#"{"token":"\#(secret)"}"#.utf8))
            response.headers = [
                "Set-Cookie": "sid=\(secret); Path=/", "Location": "/next?code=\(secret)", "X-Token": secret,
            ]
            session.respond(request, response, load: load)
            session.send(.ended(.failure(APIError(.server, response: APIResponse(response, url: url)))), load: load)
        }
        let cause = NSError(domain: secret, code: 1)
        session.send(.began, load: 5)
        session.send(.ended(.failure(APIError(.invalidRequest, underlying: cause))), load: 5, path: url.absoluteString)
    }

    @Test("What is not known to be harmless is in no archive and in no report")
    func redacted() throws {
        let recorder = HARRecorder()
        record(in: recorder)
        #expect(recorder.count == 5)
        for data in [recorder.data(), recorder.report()] {
            #expect(!String(decoding: data, as: UTF8.self).contains(Self.secret))
        }
        var dumped = ""
        dump(recorder, to: &dumped)
        #expect(!dumped.contains(Self.secret) && !"\(recorder)".contains(Self.secret))
    }

    @Test("With secrets included, they are there, and the archive and the report say so")
    func included() throws {
        let recorder = HARRecorder(includesSecrets: true)
        record(in: recorder)
        for (data, note) in [
            (recorder.data(), "Secrets are included."), (recorder.report(), "This report contains secrets"),
        ] {
            let text = String(decoding: data, as: UTF8.self)
            #expect(text.contains("Bearer \(Self.secret)"))
            #expect(text.contains(note))
        }
    }

    @Test("The app's harmless names are shown")
    func harmless() throws {
        var redactor = Redactor()
        redactor.shownHeaderNames = ["X-Anything"]
        let session = Session()
        let headers: HTTPHeaders = ["X-Anything": "shown", "X-Other": "hidden"]
        session.respond(HTTPRequest(.get, .shop("/"), headers: headers), HTTPResponse(status: 200))
        let fields = { try session.recorder.entries().first?.request.headers.map(\.value) }
        #expect(try Redactor.$replacement.withValue(redactor, operation: fields) == ["shown", "<redacted 6 bytes>"])
        // Redacted when it is exported.
        #expect(try fields() == ["<redacted 5 bytes>", "<redacted 6 bytes>"])
    }
}
