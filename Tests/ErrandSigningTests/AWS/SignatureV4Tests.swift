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
            try AWSSigner(sample.signature(.header)).sign(&request, with: sample.credentials(), at: sample.date())
            let authorization = try #require(request.headers["Authorization"])
            #expect(authorization.hasSuffix("Signature=\(try sample.text("header-signature.txt"))"), "\(sample.name)")
            #expect(request.url == url)
            request = try #require(RawRequest(try sample.text("request.txt")).request())
            let expiry = Duration.seconds(try sample.context().expirationInSeconds)
            try AWSSigner(sample.signature(.query(expiry: expiry)))
                .sign(&request, with: sample.credentials(), at: sample.date())
            #expect(request.url.absoluteString.hasSuffix(try sample.text("query-signature.txt")), "\(sample.name)")
            count += 1
        }
        #expect(count > 25)
    }

    private func signature(of sample: SignatureV4Case, _ form: AWSSignature.Form) throws -> RequestSignature {
        let request = try RawRequest(sample.text("request.txt")).unsigned()
        return try AWSSigner(sample.signature(form)).signature(
            of: request,
            with: sample.credentials(),
            at: sample.date()
        )
    }
}
