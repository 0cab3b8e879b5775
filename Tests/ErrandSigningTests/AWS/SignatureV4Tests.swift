import Errand
import Foundation
import Testing

@testable import ErrandSigning

@Suite("AWS Signature Version 4, by the suite of aws-c-auth")
struct SignatureV4Tests {
    @Test(.enabled(if: SharedData.sigv4.exists, "no sigv4 data"))
    func `All 38 cases are there`() {
        #expect(SignatureV4Case.all.count == 38)
    }

    @Test(.enabled(if: SharedData.sigv4.exists, "no sigv4 data"), arguments: SignatureV4Case.all)
    func `A signature in a header equals that of the case, and so does all that it is made of`(
        _ sample: SignatureV4Case
    ) throws {
        let signed = try signature(of: sample, .header)
        #expect(
            String(decoding: signed.canonicalRequest, as: UTF8.self)
                == (try sample.text("header-canonical-request.txt"))
        )
        #expect(String(decoding: signed.stringToSign, as: UTF8.self) == (try sample.text("header-string-to-sign.txt")))
        #expect(signed.signature == (try sample.text("header-signature.txt")))
        let lines = try sample.text("header-signed-request.txt").lowercased().split(separator: "\n")
        for (name, value) in signed.fields { #expect(lines.contains("\(name):\(value)".lowercased()[...])) }
    }

    @Test(.enabled(if: SharedData.sigv4.exists, "no sigv4 data"), arguments: SignatureV4Case.all)
    func `A signature in the query equals that of the case, and so does all that it is made of`(
        _ sample: SignatureV4Case
    ) throws {
        let expiry = Duration.seconds(try sample.context().expirationInSeconds)
        let signed = try signature(of: sample, .query(expiry: expiry))
        #expect(
            String(decoding: signed.canonicalRequest, as: UTF8.self) == (try sample.text("query-canonical-request.txt"))
        )
        #expect(String(decoding: signed.stringToSign, as: UTF8.self) == (try sample.text("query-string-to-sign.txt")))
        #expect(signed.signature == (try sample.text("query-signature.txt")))
        let expected = RawRequest(try sample.text("query-signed-request.txt"))
        #expect(CanonicalQuery(signed.query[...]).bytes == CanonicalQuery(expected.query[...]).bytes)
    }

    @Test(.enabled(if: SharedData.sigv4.exists, "no sigv4 data"))
    func `A request of an app is signed as the case, where its URL can be sent`() throws {
        var count = 0
        for sample in SignatureV4Case.all {
            guard var request = RawRequest(try sample.text("request.txt")).request() else { continue }
            let url = request.url
            try AWSSigner(options: sample.signature(.header))
                .sign(&request, with: sample.credentials(), at: sample.date())
            let authorization = try #require(request.headers["Authorization"])
            #expect(authorization.hasSuffix("Signature=\(try sample.text("header-signature.txt"))"), "\(sample.name)")
            #expect(request.url == url)
            request = try #require(RawRequest(try sample.text("request.txt")).request())
            let expiry = Duration.seconds(try sample.context().expirationInSeconds)
            try AWSSigner(options: sample.signature(.query(expiry: expiry)))
                .sign(&request, with: sample.credentials(), at: sample.date())
            #expect(request.url.absoluteString.hasSuffix(try sample.text("query-signature.txt")), "\(sample.name)")
            count += 1
        }
        #expect(count > 25)
    }

    private func signature(of sample: SignatureV4Case, _ form: AWSSignature.Form) throws -> RequestSignature {
        let request = try RawRequest(sample.text("request.txt")).unsigned()
        return try AWSSigner(options: sample.signature(form)).signature(
            of: request,
            with: sample.credentials(),
            at: sample.date()
        )
    }
}

/// One case of the suite of AWS Signature Version 4: a folder with a request, its context and what is expected of both forms.
struct SignatureV4Case: Sendable, CustomTestStringConvertible {
    struct Context: Decodable {
        struct Credentials: Decodable {
            let accessKeyId: String
            let secretAccessKey: String
            let token: String?
        }

        let credentials: Credentials
        let expirationInSeconds: Int
        let normalize: Bool
        let region: String
        let service: String
        let signBody: Bool
        let timestamp: String
        let omitSessionToken: Bool?
    }

    static let all: [SignatureV4Case] = {
        let folder = SharedData.sigv4.folder.path(percentEncoded: false)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { !$0.contains(".") }.sorted().map(SignatureV4Case.init)
    }()

    let name: String

    var testDescription: String { name }

    func text(_ file: String) throws -> String {
        String(decoding: try SharedData.sigv4.bytes("\(name)/\(file)"), as: UTF8.self)
    }

    func context() throws -> Context {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Context.self, from: SharedData.sigv4.bytes("\(name)/context.json"))
    }

    /// The signature's settings, as the context has them.
    func signature(_ form: AWSSignature.Form) throws -> AWSSignature {
        let context = try context()
        let credentials = try credentials()
        var signature = AWSSignature(region: context.region, service: context.service) { credentials }
        signature.form = form
        signature.normalizesPath = context.normalize
        signature.sendsPayloadHash = form == .header && context.signBody
        signature.signsSessionToken = context.omitSessionToken != true
        return signature
    }

    func credentials() throws -> AWSCredentials {
        let credentials = try context().credentials
        return AWSCredentials(
            accessKeyID: credentials.accessKeyId,
            secretAccessKey: credentials.secretAccessKey,
            sessionToken: credentials.token
        )
    }

    func date() throws -> Date { try Date(context().timestamp, strategy: .iso8601) }
}

/// A request as the suite writes it: an HTTP message whose target may have bytes that are not allowed in one.
struct RawRequest {
    let method: String
    let path: [UInt8]
    let query: [UInt8]
    var fields: [(name: String, value: String)] = []
    let body: Data

    init(_ text: String) {
        let halves = text.split(separator: "\n\n", maxSplits: 1)
        body = halves.count > 1 ? Data(halves[1].utf8) : Data()
        let lines = halves[0].split(separator: "\n")
        let line = lines[0]
        method = String(line.prefix { $0 != " " })
        let target = Array(line.dropFirst(method.count + 1).dropLast(" HTTP/1.1".count).utf8)
        let mark = target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        (path, query) = (Array(target[..<mark]), Array(target[mark...].dropFirst()))
        for line in lines.dropFirst() {
            if line.first == " " {
                // The continuation of a folded line.
                fields[fields.endIndex - 1].value += "\n\(line)"
            } else {
                let name = line.prefix { $0 != ":" }
                fields.append((String(name), String(line.dropFirst(name.count + 1))))
            }
        }
    }

    func unsigned() throws -> UnsignedRequest {
        UnsignedRequest(
            method: method,
            path: path[...],
            query: query[...],
            fields: fields.map { (Array($0.name.lowercased().utf8), Array($0.value.utf8)) },
            payloadHash: try PayloadHash.text(of: .data(body))
        )
    }

    /// The request as an app makes it; `nil` where the target makes no URL, or a header value is folded.
    func request() -> HTTPRequest? {
        guard let host = fields.first(where: { $0.name == "Host" })?.value else { return nil }
        let target =
            String(decoding: path, as: UTF8.self) + (query.isEmpty ? "" : "?" + String(decoding: query, as: UTF8.self))
        guard let url = URL(string: "https://\(host)\(target)"), url.absoluteString.hasSuffix(target) else {
            return nil
        }
        var request = HTTPRequest(HTTPMethod(rawValue: method), url, body: body.isEmpty ? .empty : .data(body))
        for (name, value) in fields where name != "Host" { request.headers.append(name, value) }
        let isFolded = fields.contains { $0.value.contains("\n") }
        return isFolded || request.headers["Content-Length"] != nil ? nil : request
    }
}
