import ErrandTesting
import FixtureServer
import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Queries and forms follow the WHATWG serializer", .timeLimit(.minutes(10)))
struct FormEncodingTests {
    struct Vector: Decodable {
        let test: String
        let pairs: [[String]]
        let expected: String
    }

    @Test(.enabled(if: SharedData.urlencoded.exists, "the conformance data is not here"))
    func `All vectors of web-platform-tests hold`() throws {
        let vectors: [Vector] = try SharedData.urlencoded.json("urlencoded-serialize.json")
        #expect(vectors.count == 32)
        for vector in vectors {
            let pairs = vector.pairs.map { FormEncoding.Pair(name: $0[0], value: $0[1]) }
            #expect(FormEncoding.serialize(pairs) == vector.expected, "\(vector.test)")
        }
    }

    @Test func `Every ASCII character but those of the form set is percent-encoded`() {
        // The application/x-www-form-urlencoded percent-encode set of WHATWG, from its other side.
        let safe = "*-._0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        for byte in UInt8(0)...0x7f {
            let character = String(UnicodeScalar(byte))
            let hex = String(byte, radix: 16, uppercase: true)
            let triplet = "%" + (byte < 0x10 ? "0" : "") + hex
            let expected = character == " " ? "+" : safe.contains(character) ? character : triplet
            let pair = FormEncoding.Pair(name: character, value: "a\(character)")
            #expect(FormEncoding.serialize([pair]) == "\(expected)=a\(expected)", "byte \(hex)")
        }
    }

    @Test(.fault(64)) func `Nested names, arrays and scalars have one documented form, sorted by name`() throws {
        let params: APIParams = [
            "z": true, "a": ["y": 1, "x": ["k": "v"]] as [String: JSONValueOrInt], "list": [3, 1, 2],
            "none": String?.none, "text": "a b&c=ü",
        ]
        let tree = try params.tree(with: APIService.sample().encoder)
        let text = FormEncoding.serialize(try FormEncoding.pairs(of: tree))
        let plain = try #require(text.removingPercentEncoding)
        #expect(plain == "a[x][k]=v&a[y]=1&list[]=3&list[]=1&list[]=2&text=a+b&c=ü&z=true")
        #expect(text.hasSuffix("text=a+b%26c%3D%C3%BC&z=true"))
    }

    @Test(
        .fault(64),
        arguments: [
            (Int64.max as any Encodable & Sendable, "9223372036854775807"), (Int64.min, "-9223372036854775808"),
            (UInt64.max, "18446744073709551615"),
            (UInt64(10_000_000_000_000_000_000), "10000000000000000000"), (-1e19, "-10000000000000000000"),
            (0.1, "0.1"), (1e300, "1e+300"), (1.0, "1"), (false, "false"),
            (Decimal(string: "12345678901234567890.12") ?? 0, "12345678901234567890.12"),
            (Date(timeIntervalSince1970: 0), "1970-01-01T00:00:00Z"), ("", ""), ("é\u{0}\n", "é\u{0}\n"),
        ]
    )
    func `A scalar keeps its value to the last digit`(_ value: any Encodable & Sendable, _ expected: String) throws {
        let tree = try APIParams(["v": value]).tree(with: APIService.sample().encoder)
        #expect(try FormEncoding.pairs(of: tree).map(\.value) == [expected])
    }

    @Test(.fault(64)) func `Equal parameters give equal bytes`() throws {
        let texts = try (0..<20).map { _ in
            let values = Dictionary(
                uniqueKeysWithValues: (0..<50).map { (number: Int) in
                    ("k\(number)", number as APIParams.Value)
                }
            )
            return try APIParams(values).json(with: APIService.sample().encoder)
        }
        #expect(Set(texts).count == 1)
    }

    @Test(.fault(64), arguments: [Double.nan, .infinity, -.infinity])
    func `A number that JSON does not have is refused`(_ value: Double) {
        let encoder = APIService.sample().encoder
        let error = #expect(throws: APIError.self) { try APIParams(["v": value]).tree(with: encoder) }
        #expect(error?.type == .invalidRequest)
    }

    @Test func `Parameters without names are a body, never a query`() throws {
        let params = APIParams(encoding: [1, 2, 3])
        #expect(String(decoding: try params.json(with: APIService.sample().encoder), as: UTF8.self) == "[1,2,3]")
        #expect(throws: APIError.self) { try FormEncoding.pairs(of: params.tree(with: APIService.sample().encoder)) }
    }
}

/// A dictionary's value that is a number or a dictionary.
enum JSONValueOrInt: Encodable, Sendable, ExpressibleByIntegerLiteral, ExpressibleByDictionaryLiteral {
    case int(Int)
    case members([String: String])

    init(integerLiteral value: Int) { self = .int(value) }
    init(dictionaryLiteral elements: (String, String)...) { self = .members(Dictionary(elements) { $1 }) }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .int(let value): try value.encode(to: encoder)
        case .members(let members): try members.encode(to: encoder)
        }
    }
}

@Suite("A request chooses where and how its parameters are encoded", .timeLimit(.minutes(10)))
struct ParamPlacementTests {
    private let params: APIParams = ["id": 7, "page": 2, "on": true, "tags": ["a", "b"]]

    private func sent(
        _ method: HTTPMethod,
        _ serializer: RequestSerializer,
        _ params: APIParams?,
        path: String = "/g",
        service: APIService = .sample(),
        common: APIParams? = nil
    ) throws -> (query: String?, body: String, type: String?) {
        var draft = RequestDraft(method: method, path: path, params: params)
        draft.serializer = serializer
        let request = try draft.request(for: service, with: CommonValues(params: common))
        let body = request.body.pieces.map { piece in
            if case .data(let data) = piece { String(decoding: data, as: UTF8.self) } else { "?" }
        }
        return (request.url.query(percentEncoded: false), body.joined(), request.headers["Content-Type"])
    }

    @Test(arguments: [HTTPMethod.delete, .post, .get]) func `Parameters are placed in the body of any method`(
        _ method: HTTPMethod
    ) throws {
        let sent = try sent(method, .json.placing(.body), params, path: "/g/{id}")
        #expect(sent.query == nil && sent.type == "application/json")
        #expect(sent.body == #"{"on":true,"page":2,"tags":["a","b"]}"#)
    }

    @Test(arguments: [RequestSerializer.json, .form]) func `Parameters are placed in the query, and there is no body`(
        _ serializer: RequestSerializer
    ) throws {
        let sent = try sent(.post, serializer.placing(.query), params, path: "/g/{id}")
        #expect(sent.query == "on=true&page=2&tags[]=a&tags[]=b" && sent.body.isEmpty && sent.type == nil)
    }

    @Test(arguments: [HTTPMethod.post, .delete]) func `Parameters are divided between query and body by name`(
        _ method: HTTPMethod
    ) throws {
        let sent = try sent(method, .json.placing(.split(query: ["page", "on", "other"])), params, path: "/g/{id}")
        #expect(sent.query == "on=true&page=2" && sent.body == #"{"tags":["a","b"]}"#)
    }

    @Test func `Parameters are in the query and in the body`() throws {
        let sent = try sent(.put, .form.placing(.queryAndBody), ["id": 7, "a": 1], path: "/g/{id}")
        #expect(sent.query == "a=1" && sent.body == "a=1")
    }

    @Test func `Raw bytes have the parameters in the query`() throws {
        let raw = RequestSerializer.raw(.data(Data("bytes".utf8)), contentType: "image/png")
        let sent = try sent(.put, raw, ["page": 2])
        #expect(sent.query == "page=2" && sent.body == "bytes" && sent.type == "image/png")
        #expect(try self.sent(.put, raw.placing(.body), nil).body == "bytes")
    }

    @Test(arguments: [
        (HTTPMethod.head, RequestSerializer.json.placing(.body), "HEAD has none"),
        (.head, .form.placing(.queryAndBody), "HEAD has none"),
        (.put, .raw(.data(Data()), contentType: "a/b").placing(.body), "which is raw"),
        (.put, .raw(.data(Data()), contentType: "a/b").placing(.split(query: ["size"])), "which is raw"),
    ])
    func `A body that cannot contain the parameters is refused`(
        _ method: HTTPMethod,
        _ serializer: RequestSerializer,
        _ reason: String
    ) {
        let error = #expect(throws: APIError.self) { try sent(method, serializer, ["page": 1]) }
        #expect(error?.type == .invalidRequest && error?.reason?.contains(reason) == true)
    }

    @Test(arguments: [HTTPMethod.get, .delete, .post]) func `There is no body if all parameters are in the query`(
        _ method: HTTPMethod
    ) throws {
        let custom = RequestSerializer.custom(contentType: "application/xml") { _ in .data(Data("<a/>".utf8)) }
        for serializer in [RequestSerializer.json, .form, .multipart, custom] {
            let sent = try sent(method, serializer.placing(.split(query: ["page"])), ["page": 2])
            #expect(sent.query == "page=2" && sent.body.isEmpty && sent.type == nil)
        }
    }

    @Test func `Parameters without names are not divided`() {
        let error = #expect(throws: APIError.self) {
            try sent(.post, .json.placing(.split(query: ["page"])), APIParams(encoding: [1, 2]))
        }
        #expect(error?.type == .invalidRequest)
    }

    // MARK: Encoding

    @Test(arguments: [
        (ParamEncoding(), "a[]=1&a[1][b]=true&c[d]=false"),
        (ParamEncoding(arrays: .repeated), "a=1&a[1][b]=true&c[d]=false"),
        (ParamEncoding(arrays: .indexed, nesting: .dots), "a[0]=1&a[1].b=true&c.d=false"),
        (ParamEncoding(booleans: .digits), "a[]=1&a[1][b]=1&c[d]=0"),
    ])
    func `Arrays, Booleans and nested names are written as chosen`(_ encoding: ParamEncoding, _ text: String) throws {
        let params: APIParams = ["a": [1, ["b": true]] as JSONValue, "c": ["d": false] as APIParams]
        #expect(try sent(.get, .json.encoding(encoding), params).query == text)
        let form = try sent(.post, .form.encoding(encoding), params).body
        #expect(form.removingPercentEncoding == text)
        #expect(try sent(.post, .json.encoding(encoding), params).body == #"{"a":[1,{"b":true}],"c":{"d":false}}"#)
        let parts = try sent(.post, .multipart.encoding(encoding), params).body
        #expect(text.split(separator: "&").allSatisfy { parts.contains("name=\"\($0.split(separator: "=")[0])\"") })
    }

    @Test func `The members of each element of an array can be told apart`() throws {
        let params: APIParams = [
            "a": [["b": 1], ["c": 2]] as JSONValue, "m": [[1, 2], [3], []] as JSONValue, "n": [] as JSONValue,
        ]
        #expect(try sent(.get, .json, params).query == "a[0][b]=1&a[1][c]=2&m[0][]=1&m[0][]=2&m[1][]=3")
        let repeated = RequestSerializer.json.encoding(ParamEncoding(arrays: .repeated))
        #expect(try sent(.get, repeated, params).query == "a[0][b]=1&a[1][c]=2&m[0]=1&m[0]=2&m[1]=3")
    }

    @Test(arguments: [
        (ParamEncoding.Arrays.brackets, "a[]=1&a[]=2&a[2][b]=3&a[3][]=4"), (.repeated, "a[]=1&a[]=2&a[2][b]=3&a[3]=4"),
        (.indexed, "a[0]=1&a[1]=2&a[2][b]=3&a[3][0]=4"),
    ])
    func `An array whose name has brackets already gets no others`(
        _ arrays: ParamEncoding.Arrays,
        _ text: String
    ) throws {
        let params: APIParams = ["a[]": [1, 2, ["b": 3], [4]] as JSONValue]
        let encoding = ParamEncoding(arrays: arrays)
        #expect(try sent(.get, .json.encoding(encoding), params).query == text)
        let parts = try sent(.post, .multipart.encoding(encoding), params).body
        #expect(text.split(separator: "&").allSatisfy { parts.contains("name=\"\($0.split(separator: "=")[0])\"") })
        #expect(try sent(.get, .json.encoding(encoding), ["a[]": 1]).query == "a[]=1")
    }

    @Test func `Elements of an array that are not sent leave no gap between the indexes`() throws {
        let params: APIParams = ["a": [nil, 1, nil, ["b": nil], [], ["b": 2]] as JSONValue]
        let indexed = RequestSerializer.json.encoding(ParamEncoding(arrays: .indexed))
        #expect(try sent(.get, indexed, params).query == "a[0]=1&a[1][b]=2")
    }

    @Test(arguments: [ParamEncoding(), ParamEncoding(spaces: .percent)])
    func `A space is written as chosen, and a plus sign never as itself`(_ encoding: ParamEncoding) throws {
        let params: APIParams = ["te xt": "a b+c d"]
        let space = encoding.spaces == .plus ? "+" : "%20"
        let expected = "te\(space)xt=a\(space)b%2Bc\(space)d"
        #expect(try sent(.post, .form.encoding(encoding), params).body == expected)
        let service = APIService.sample { $0.paramEncoding = encoding }
        let url = try RequestDraft(method: .get, path: "http://shop.test/a?b=c", params: params).request(for: service)
            .url
        #expect(url.absoluteString == "http://shop.test/a?b=c&\(expected)")
    }

    @Test(arguments: [
        (
            ParamEncoding(), "f[x]=1&l[]=1&l[]=2",
            #"{"f":{"d":{"n":null},"n":null,"x":1},"l":[1,null,2,{"n":null}],"n":null}"#
        ),
        (
            ParamEncoding(nils: .omitted), "f[x]=1&l[]=1&l[]=2",
            #"{"f":{"d":{},"x":1},"l":[1,null,2,{}]}"#
        ),
        (
            ParamEncoding(arrays: .repeated, nils: .empty), "f[d][n]=&f[n]=&f[x]=1&l=1&l=&l=2&l[3][n]=&n=",
            #"{"f":{"d":{"n":null},"n":null,"x":1},"l":[1,null,2,{"n":null}],"n":null}"#
        ),
    ])
    func `A nil is written as chosen`(_ encoding: ParamEncoding, _ text: String, _ json: String) throws {
        let params: APIParams = [
            "n": nil, "f": ["n": nil, "x": 1, "d": ["n": nil] as APIParams] as APIParams,
            "l": [1, nil, 2, ["n": nil]] as JSONValue,
        ]
        #expect(try sent(.get, .json.encoding(encoding), params).query?.removingPercentEncoding == text)
        #expect(try sent(.post, .form.encoding(encoding), params).body.removingPercentEncoding == text)
        #expect(try sent(.post, .json.encoding(encoding), params).body == json)
        var draft = RequestDraft(method: .post, path: "/a", params: params)
        for (serializer, isForm) in [(RequestSerializer.json, false), (.form, true)] {
            draft.serializer = serializer.encoding(encoding)
            let fields = try SentParams(draft, for: .sample()).fields(of: params)
            let signed = fields.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
            let isWritten = isForm ? signed == text : signed.contains("n=null") == (encoding.nils != .omitted)
            #expect(isWritten, "\(signed)")
        }
    }

    @Test func `A service has an encoding, and a request's own takes precedence`() throws {
        let service = APIService.sample { $0.paramEncoding = ParamEncoding(arrays: .repeated, booleans: .digits) }
        let params: APIParams = ["a": [1, 2], "b": true]
        #expect(try sent(.get, .json, params, service: service).query == "a=1&a=2&b=1")
        let own = RequestSerializer.json.encoding(ParamEncoding()).placing(.query)
        #expect(try sent(.post, own, params, service: service).query == "a[]=1&a[]=2&b=true")
        #expect(try sent(.get, .json, ["id": true], path: "/g/{id}", service: service).query == nil)
    }

    // MARK: Serializers of the app

    @Test func `A serializer of the app receives the merged parameters of the body`() throws {
        let common: APIParams = ["app": "shop", "page": 1]
        let xml = RequestSerializer.custom(contentType: "application/xml") { params in
            guard case .object(let members) = params else { throw CocoaError(.coderInvalidValue) }
            return .data(Data(members.keys.sorted().map { "<\($0)/>" }.joined().utf8))
        }
        let whole = try sent(.post, xml, ["id": 7, "page": 2], path: "/g/{id}", common: common)
        #expect(whole.body == "<app/><page/>" && whole.type == "application/xml" && whole.query == nil)
        let split = try sent(.post, xml.placing(.split(query: ["page"])), ["page": 2], common: common)
        #expect(split.body == "<app/>" && split.query == "page=2")
        let inQuery = try sent(.get, xml, ["page": 2], common: common)
        #expect(inQuery.body.isEmpty && inQuery.type == nil && inQuery.query == "app=shop&page=2")
        #expect(try sent(.post, xml, nil).type == "application/xml")
        #expect(try sent(.post, .custom(contentType: "a/b") { _ in .empty }, nil).type == nil)
    }

    @Test func `The error of a serializer of the app ends the load before a byte is sent`() async throws {
        struct Unsupported: Error {}
        let transport = ScriptedTransport { _ in .status(200) }
        let proxy = APIProxy(fake: transport)
        for (thrown, type) in [
            (Unsupported() as any Error, APIErrorType.invalidRequest), (APIError(.storage), .storage),
        ] {
            let serializer = RequestSerializer.custom(contentType: "a/b") { _ in throw thrown }
            let request = await APIRequest<Void>("/g", method: .post, requestSerializer: serializer, proxy: proxy)
            let error = await #expect(throws: APIError.self) { try await request.value() }
            #expect(error?.type == type)
        }
        #expect(transport.requests.isEmpty)
    }

    // MARK: On the wire

    @Test(arguments: [HTTPMethod.delete, .get]) @MainActor func `A body arrives with a method that usually has none`(
        _ method: HTTPMethod
    ) async throws {
        let server = try FixtureServer.start { _ in .json(bytes: #"{"errcode":200}"#.utf8) }
        defer { server.stop() }
        let proxy = APIProxy(service: APIService(baseURL: server.baseURL))
        let serializer = RequestSerializer.json.placing(.split(query: ["page"]))
        let request = APIRequest<Void>("/cart", method: method, requestSerializer: serializer, proxy: proxy)
        try await request.value(params: ["ids": [1, 2], "page": 3])
        let sent = try #require(server.requests.first)
        #expect(sent.method == method.rawValue && sent.target == "/cart?page=3")
        #expect(String(decoding: sent.body, as: UTF8.self) == #"{"ids":[1,2]}"#)
    }
}

@Suite("Multipart bodies follow RFC 7578", .timeLimit(.minutes(10)))
struct MultipartFormTests {
    private func text(_ body: HTTPBody) throws -> String {
        try body.pieces.map { piece in
            switch piece {
            case .data(let data): String(decoding: data, as: UTF8.self)
            case .file(let url): String(decoding: try Data(contentsOf: url), as: UTF8.self)
            case .stream(let stream): "\(stream)"
            }
        }.joined()
    }

    @Test func `Fields are first, then parts from memory and from files`() throws {
        let file = try TemporaryFile(Data("from a file".utf8))
        var form = MultipartForm()
        form.append(Data("from memory".utf8), name: "note", contentType: "text/plain")
        form.append(file: file.url, name: "file", filename: "头像.txt")
        let body = try form.body(fields: [(name: "id", value: "7")])
        let boundary = form.boundary
        #expect(
            try text(body) == """
                --\(boundary)\r
                Content-Disposition: form-data; name="id"\r
                \r
                7\r
                --\(boundary)\r
                Content-Disposition: form-data; name="note"\r
                Content-Type: text/plain\r
                \r
                from memory\r
                --\(boundary)\r
                Content-Disposition: form-data; name="file"; filename="头像.txt"\r
                Content-Type: text/plain\r
                \r
                from a file\r
                --\(boundary)--\r

                """
        )
        #expect(body.pieces.contains(.file(file.url)), "a file is not read")
    }

    @Test(arguments: [
        ("a.jpg", "image/jpeg"), ("a.PDF", "application/pdf"), ("a.unknown", "application/octet-stream"),
    ])
    func `A part has the type of its file name unless it is given one`(_ name: String, _ type: String) throws {
        let file = URL(filePath: "/tmp/\(name)")
        var form = MultipartForm()
        form.append(Data(), name: "a", filename: name)
        form.append(file: file, name: "b")
        form.append(file: URL(filePath: "/tmp/b.bin"), name: "c", filename: name)
        #expect(form.parts.map(\.contentType) == [type, type, type])
        form = MultipartForm()
        form.append(file: file, name: "a", filename: "without an extension")
        #expect(form.parts.map(\.contentType) == [type])
        form = MultipartForm()
        form.append(Data(), name: "a", filename: name, contentType: "a/b")
        form.append(file: file, name: "b", contentType: "a/b")
        form.append(Data(), name: "c")
        #expect(form.parts.map(\.contentType) == ["a/b", "a/b", nil])
    }

    @Test func `A quote in a name is escaped as browsers do`() throws {
        var form = MultipartForm()
        form.append(Data(), name: #"a"b"#, filename: #"c"d.txt"#)
        #expect(try text(form.body(fields: [])).contains(#"name="a%22b"; filename="c%22d.txt""#))
        var combined = MultipartForm()
        combined.append(Data(), name: "f", filename: "x\"\u{301}; name=admin")
        #expect(try text(combined.body(fields: [])).contains("filename=\"x%22\u{301}; name=admin\""))
    }

    @Test(arguments: ["a\r\nX-Evil: 1", "a\nb", "a\u{0}b", "a\u{7F}b"])
    func `A control character in a name, file name or type is refused`(_ text: String) {
        for (name, filename, type) in [(text, "f", "t/t"), ("n", text, "t/t"), ("n", "f", text)] {
            var form = MultipartForm()
            form.append(Data(), name: name, filename: filename, contentType: type)
            let error = #expect(throws: APIError.self) { try form.body(fields: []) }
            #expect(error?.type == .invalidRequest)
        }
    }

    @Test func `Two forms never share a boundary`() {
        #expect(MultipartForm().boundary != MultipartForm().boundary)
    }
}
