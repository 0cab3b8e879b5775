import Errand
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import ErrandSigning

@Suite("Signatures over sockets", .limitedConcurrency, .timeLimit(.minutes(5)))
struct SigningLiveTests {
    private static let secret = "s3cret"

    private static let paths = ["/a%20b/é/x@y:z", "/list/", "/q?text=ü 中&&x=a+b%2Bc", "/x?empty&e=", "/a(b)'*!"]

    @Test(arguments: [AWSSignature.Form.header, .query(expiry: .seconds(60))], ["execute-api", "s3"])
    func `A server that computes the AWS signature of what it has received finds the same one`(
        _ form: AWSSignature.Form,
        _ name: String
    ) async throws {
        let listener = try FixtureServer.start { request in
            .bytes(Array("{}".utf8), status: Self.isSigned(request, name) ? 200 : 403)
        }
        var signature = AWSSignature(region: "us-east-1", service: name) { AWSSignatureTests.credentials }
        signature.form = form
        var service = APIService(baseURL: listener.baseURL)
        (service.envelope, service.retryPolicy) = (nil, .never)
        service.commonHeaders = { ["X-Own": "  a   b ", "Accept": "application/json"] }
        service.sign(with: signature)
        let proxy = APIProxy(service: service)
        for path in Self.paths {
            let params: APIParams = ["q": "ä b+c&d", "n": [1, 2]]
            _ = try await APIRequest<Data>(path, params: params, proxy: proxy).value()
            _ = try await APIRequest<Data>(path, method: .post, params: params, proxy: proxy).value()
            _ = try await APIRequest<Data>(path, method: .delete, proxy: proxy).value()
        }
        #expect(listener.totalRequests == 15)
        listener.stop()
    }

    @Test(
        arguments: ["127.1", "0x7f.1", "2130706433", "0177.0.0.1", "127.0.0.1"],
        [
            AWSSignature.Form.header, .query(expiry: .seconds(60)),
        ]
    )
    func `An address in another notation is signed as it is sent`(_ host: String, _ form: AWSSignature.Form)
        async throws
    {
        let listener = try FixtureServer.start { request in
            .bytes(Array("{}".utf8), status: Self.isSigned(request, "execute-api") ? 200 : 403)
        }
        let port = try #require(listener.baseURL.port)
        var signature = AWSSignature(region: "us-east-1", service: "execute-api") { AWSSignatureTests.credentials }
        signature.form = form
        var service = APIService(baseURL: try #require(URL(string: "http://\(host):\(port)/x")))
        (service.envelope, service.retryPolicy) = (nil, .never)
        service.sign(with: signature)
        _ = try await APIRequest<Data>("/y", params: ["q": 1], proxy: APIProxy(service: service)).value()
        #expect(listener.requests.last?.header("Host") == "127.0.0.1:\(port)")
        listener.stop()
    }

    /// Returns whether a request has the signature that its bytes have to have.
    private static func isSigned(_ request: RecordedRequest, _ service: String) -> Bool {
        let items = request.queryItems
        let date = request.header("X-Amz-Date") ?? items.first { $0.name == "X-Amz-Date" }?.value ?? ""
        guard
            let moment = try? Date(
                date,
                strategy: Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
            ),
            let signed = try? signature(of: request, service, at: moment)
        else { return false }
        let expected = items.first { $0.name == "X-Amz-Signature" }?.value
        return expected == signed || request.header("Authorization")?.hasSuffix("Signature=\(signed)") == true
    }

    private static func signature(of request: RecordedRequest, _ service: String, at date: Date) throws -> String {
        let query = (request.query ?? "").split(separator: "&").filter { !$0.hasPrefix("X-Amz-Signature=") }
        let list = request.queryItems.first { $0.name == "X-Amz-SignedHeaders" }?.value
        let names =
            list ?? request.header("Authorization")?.firstMatch(of: /SignedHeaders=([^,]*),/).map { String($0.1) }
        let fields = (names ?? "").split(separator: ";").flatMap { name in
            request.headers.filter { $0.name.lowercased() == name }.map { (Array(name.utf8), Array($0.value.utf8)) }
        }
        let scope = CredentialScope(date, region: "us-east-1", service: service)
        let options = AWSSignature(region: "us-east-1", service: service) { AWSSignatureTests.credentials }
        let headers = CanonicalHeaders(fields)
        let path = CanonicalPath(isNormalized: service != "s3", isEncodedTwice: service != "s3")
        let parts = [
            Array(request.method.utf8), path.bytes(of: Array(request.path.utf8)[...]),
            CanonicalQuery(Array(query.joined(separator: "&").utf8)[...]).bytes, headers.lines, headers.names,
            Array(try Digest.sha256.hash(of: Data(request.body)).hexadecimal.utf8),
        ]
        let canonical = try Digest.sha256.hash(of: Data(parts.joined(separator: Array("\n".utf8)))).hexadecimal
        let text = "AWS4-HMAC-SHA256\n\(scope.moment)\n\(scope.text)\n\(canonical)"
        let secret = AWSSignatureTests.credentials.secretAccessKey
        let key = try options.keys.scope(at: date, of: options, secret: secret).key
        return try PlatformCrypto.hmacSHA256(of: Data(text.utf8), key: key).hexadecimal
    }

    @MainActor @Test(arguments: 0..<3)
    func `A server that sorts the parameters that it has received finds the same signature`(_ index: Int) async throws {
        let listener = try FixtureServer.start { request in
            let items =
                request.query == nil ? Self.bodyItems(of: request) : request.queryItems.map { ($0.name, $0.value) }
            let text = items.filter { $0.0 != "sign" }.sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
                .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
            let sign = try? Digest.sha1.hash(of: Data((text + Self.secret).utf8)).hexadecimal
            let isSigned = items.contains { $0.0 == "sign" && $0.1 == sign }
            return .bytes(Array("{}".utf8), status: isSigned ? 200 : 403)
        }
        var service = APIService(baseURL: listener.baseURL)
        (service.envelope, service.retryPolicy) = (nil, .never)
        service.sign(with: ParamSigning(secret: Self.secret, algorithm: .sha1, into: .parameter("sign")))
        let proxy = APIProxy(service: service)
        let request = Upload(proxy: proxy)
        request.bodySerializer = [.json, .form, .multipart][index]
        let params: APIParams = ["q": "ä b+c&d=e", "é": 1, "flag": true, "half": 0.25, "list": ["a", "b"]]
        _ = try await request.value(params: .given(params))
        _ = try await APIRequest<Data>("/x", params: params, proxy: proxy).value()
        #expect(listener.totalRequests == 2)
        listener.stop()
    }

    private final class Upload: BaseAPIRequest, APIManager {
        typealias Response = Data
        let path = "/upload"
        let method = HTTPMethod.post
        var bodySerializer = RequestSerializer.json
        override var requestSerializer: RequestSerializer { bodySerializer }
    }

    private static func bodyItems(of request: RecordedRequest) -> [(String, String)] {
        let type = request.header("Content-Type") ?? ""
        if type.hasPrefix("application/x-www-form") { return request.formItems.map { ($0.name, $0.value) } }
        guard type.hasPrefix("multipart/") else {
            let object = (try? JSONValue(json: Data(request.body))) ?? .null
            guard case .object(let members) = object else { return [] }
            return members.map { ($0.key, text(of: $0.value)) }
        }
        let parts = request.text.matches(of: /name="([^"]*)"\r\n(?:[^\r]+\r\n)*\r\n([^\r]*)\r\n/)
        return parts.map { (String($0.1), String($0.2)) }
    }

    private static func text(of value: JSONValue) -> String {
        if let text = value.string { return text }
        return (try? JSONEncoder().encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
