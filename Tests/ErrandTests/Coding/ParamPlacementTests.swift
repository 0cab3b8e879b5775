import ErrandTesting
import FixtureServer
import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
        for serializer in [RequestSerializer.json, .form, .multipart] {
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
        (ParamEncoding(), "a[]=1&a[][b]=true&c[d]=false"),
        (ParamEncoding(arrays: .repeated), "a=1&a[b]=true&c[d]=false"),
        (ParamEncoding(arrays: .indexed, nesting: .dots), "a[0]=1&a[1].b=true&c.d=false"),
        (ParamEncoding(booleans: .digits), "a[]=1&a[][b]=1&c[d]=0"),
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
            ParamEncoding(arrays: .repeated, nils: .empty), "f[d][n]=&f[n]=&f[x]=1&l=1&l=&l=2&l[n]=&n=",
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
