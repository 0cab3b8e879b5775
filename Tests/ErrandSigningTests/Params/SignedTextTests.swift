import Errand
import Foundation
import Testing

@testable import ErrandSigning

@Suite("The text of which a signature is made")
struct SignedTextTests {
    private let secret = "s3cret"

    private func signing(
        _ algorithm: ParamSigning.Algorithm = .md5,
        _ change: (inout ParamSigning) -> Void = { _ in }
    ) -> ParamSigning {
        var signing = ParamSigning(secret: secret, algorithm: algorithm, into: .parameter("sign"))
        change(&signing)
        return signing
    }

    private static let fields = [
        SentParams.Field("b", "2"), SentParams.Field("a", "ü /"), SentParams.Field("n", "null", isNull: true),
        SentParams.Field("e", ""), SentParams.Field("x", "9"),
    ]

    struct TextCase: Sendable {
        let algorithm: ParamSigning.Algorithm
        let text: String
        var change: @Sendable (inout ParamSigning) -> Void = { _ in }
    }

    @Test(
        arguments: [
            TextCase(algorithm: .md5, text: "a=ü /&b=2&e=&n=null&x=9s3cret"),
            TextCase(algorithm: .hmacSHA256, text: "a=ü /&b=2&e=&n=null&x=9"),
            TextCase(algorithm: .hmacSHA256, text: "a=ü /&b=2&e=&n=null&x=9&key=s3cret") {
                $0.secretPosition = .lastParameter("key")
            },
            TextCase(algorithm: .sha1, text: "s3creta=ü /&b=2&e=&n=null&x=9") { $0.secretPosition = .prepended },
            TextCase(algorithm: .sha256, text: "s3creta=ü /&b=2&e=&n=null&x=9s3cret") {
                $0.secretPosition = .surrounding
            },
            TextCase(algorithm: .md5, text: "a=ü /&b=2&c=s3cret&e=&n=null&x=9") {
                $0.secretPosition = .sortedParameter("c")
            },
            TextCase(algorithm: .md5, text: "a=ü /&b=2&x=9s3cret") { $0.omitsEmptyValues = true },
            TextCase(algorithm: .md5, text: "aü /b2ennullx9s3cret") {
                ($0.valueSeparator, $0.pairSeparator) = ("", "")
            },
            TextCase(algorithm: .md5, text: "a=%C3%BC%20%2F&b=2&e=&n=null&x=9s3cret") { $0.percentEncodes = true },
            TextCase(algorithm: .md5, text: "a=ü /&e=&n=null&x=9s3cret") { $0.unsignedNames = ["b"] },
        ]
    )
    func `The signed text has the separators and the secret where they are set`(_ sample: TextCase) {
        let signing = signing(sample.algorithm, sample.change)
        #expect(String(decoding: signing.text(of: Self.fields, secret: secret), as: UTF8.self) == sample.text)
    }

    @Test func `Names are sorted by the bytes of UTF-8, and equal ones keep their order`() {
        let names = ["\u{FF5E}", "\u{1F600}", "z", "é", "e\u{301}", "Z", "a[]", "a", "a[]"]
        let fields = names.enumerated().map { SentParams.Field($1, "\($0)") }
        let text = signing(.hmacSHA256).text(of: fields, secret: "")
        #expect(
            String(decoding: text, as: UTF8.self)
                == "Z=5&a=7&a[]=6&a[]=8&e\u{301}=4&z=2&é=3&\u{FF5E}=0&\u{1F600}=1"
        )
    }

    @Test func `Names are sorted by all their bytes, and separators may have any length`() {
        let names = [
            "itemNumber10", "itemNumb", "itemNumber1", "", "itemNumber", "item", "itemNumber\u{0}", "item\u{0}",
        ]
        let fields = names.enumerated().map { SentParams.Field($1, "\($0)") }
        let signing = signing(.hmacSHA256) { ($0.valueSeparator, $0.pairSeparator) = (" is ", ", ") }
        let text = """
             is 3, item is 5, item\u{0} is 7, itemNumb is 1, itemNumber is 4, itemNumber\u{0} is 6, itemNumber1 is 2, \
            itemNumber10 is 0
            """
        #expect(String(decoding: signing.text(of: fields, secret: ""), as: UTF8.self) == text)
    }

    @Test func `A digest is written in digits of either case or in Base64`() throws {
        let texts = try [ParamSigning.Encoding.hex, .upperHex, .base64].map { encoding in
            try signing { $0.encoding = encoding }.signature(of: [], secret: "")
        }
        #expect(
            texts == [
                "d41d8cd98f00b204e9800998ecf8427e", "D41D8CD98F00B204E9800998ECF8427E", "1B2M2Y8AsgTpgAmY7PhCfg==",
            ]
        )
    }
}
