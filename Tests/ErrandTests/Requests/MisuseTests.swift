import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite(
    "Wrong use does not compile",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: TypeChecker.compiler != nil, "no swiftc")
)
struct MisuseTests {
    private let right = """
        import Errand
        final class Right: BaseAPIRequest, APIManager {
            typealias Response = [String]
            let path = "/right"
            let method = HTTPMethod.get
        }
        Right().loadData()
        """

    @Test func `A request with path, method and response type compiles`() async throws {
        let verdict = try await TypeChecker.check(right)
        #expect(verdict.succeeded, "\(verdict.output)")
    }

    @Test(arguments: [
        ("let path = \"/right\"", "", "does not conform to protocol 'APIManager'"),
        ("let method = HTTPMethod.get", "", "does not conform to protocol 'APIManager'"),
        ("typealias Response = [String]", "", "does not conform to protocol 'APIManager'"),
        (", APIManager", "", "has no member 'loadData'"),
        (
            "BaseAPIRequest, APIManager", "APIManager",
            "'APIManager' requires that 'Right' inherit from 'BaseAPIRequest'"
        ),
        ("let path = \"/right\"", "let path = 7", "does not conform to protocol 'APIManager'"),
        ("[String]", "[Any]", "does not conform to"),
    ])
    func `A request without one does not compile`(_ part: String, _ mistake: String, _ standardError: String)
        async throws
    {
        #expect(right.contains(part))
        let verdict = try await TypeChecker.check(right.replacing(part, with: mistake))
        #expect(!verdict.succeeded)
        #expect(verdict.output.contains(standardError), "\(verdict.output)")
    }

    // MARK: Isolation

    private let isolated = """
        import Errand
        nonisolated struct Model: Decodable { let id: Int }
        final class Right: BaseAPIRequest, APIManager {
            typealias Response = [Model]
            let path = "/right"
            let method = HTTPMethod.get
        }
        final class Pages: PageAPIRequest<PageModel<Model>>, APIManager {
            let path = "/pages"
            let method = HTTPMethod.get
        }
        final class Account: ReloginHandler {
            var token = ""
            func relogin() async throws { token = "new" }
        }
        final class Screen: APIManagerParamSource, APIManagerCallbackDelegate {
            private lazy var right = Right(delegate: self, paramSource: self)
            func appear() { right.loadData() }
            func params(for request: BaseAPIRequest) -> APIParams? { nil }
            func managerCallAPIDidSucceed(_ request: BaseAPIRequest) { print(right.response?.count ?? 0) }
            func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {}
        }
        func load() async throws -> Int { try await Right().value().count }
        """

    @Test(arguments: TypeChecker.Isolation.allCases)
    func `Requests, screens and relogin handlers need no isolation`(_ isolation: TypeChecker.Isolation) async throws {
        // Without a default, an async function is isolated to no actor.
        let source = isolation == .mainActor ? isolated : isolated.replacing("func load", with: "@MainActor func load")
        let verdict = try await TypeChecker.check(source, isolation: isolation)
        #expect(verdict.succeeded, "\(verdict.output)")
    }

    @Test(arguments: [
        "Response must be Decodable off the main actor: declare a 'nonisolated struct' or a responseSerializer",
        "main actor-isolated conformance of 'Model' to 'Decodable' cannot satisfy conformance requirement",
        // A line of the documentation, which the compiler shows with its note.
        "In a module with the default isolation `MainActor`, declare the items `nonisolated struct`.",
    ])
    func `The error for a model of the main actor says how to declare it`(_ standardError: String) async throws {
        let source = isolated.replacing("nonisolated struct Model", with: "struct Model")
        let verdict = try await TypeChecker.check(source, isolation: .mainActor)
        #expect(!verdict.succeeded)
        #expect(verdict.output.contains(standardError), "\(verdict.output)")
    }

    @Test(arguments: TypeChecker.Isolation.allCases)
    func `A token of the main actor can be read by every closure of a service`(
        _ isolation: TypeChecker.Isolation
    ) async throws {
        let source = """
            import Errand
            import Foundation
            @MainActor final class TokenStore { var token: String? }
            @MainActor func prepare(_ service: inout APIService, _ store: TokenStore) {
                service.commonHeaders = { [weak store] in ["Authorization": await store?.token] }
                service.commonParams = { [weak store] in ["token": await store?.token] }
                service.adapters.request = [
                    Adapter { [weak store] request, _ in request.headers["Authorization"] = await store?.token }
                ]
                service.commonHeaders = { ["X-Client": "ios"] }
            }
            """
        let verdict = try await TypeChecker.check(source, isolation: isolation)
        #expect(verdict.succeeded, "\(verdict.output)")
        let unawaited = source.replacing("await ", with: "")
        #expect(try await !TypeChecker.check(unawaited, isolation: isolation).succeeded)
    }

    @Test func `The error for a response that is not Decodable says what it must be`() async throws {
        let verdict = try await TypeChecker.check(right.replacing("[String]", with: "[any Sendable]"))
        #expect(!verdict.succeeded)
        #expect(verdict.output.contains("Response must be Decodable off the main actor"), "\(verdict.output)")
    }

    /// Requests without a class, and classes and lists that return `automatic`.
    private let typed = [
        "let request = APIRequest<Model>(\"/model\")",
        "let request = APIRequest<[Model]>(\"/models\", method: .post, params: [\"a\": 1])",
        "let request = APIRequest<Model?>(\"/model\")",
        "let request = APIRequest<PageModel<Model>>(\"/pages\")",
        "let request = APIRequest<Model>(\"/model\", responseSerializer: .automatic)",
        "let serializer = ResponseSerializer<[Model]>.automatic",
        """
        final class Right: BaseAPIRequest, APIManager {
            let (path, method) = ("/right", HTTPMethod.get)
            var responseSerializer: ResponseSerializer<[Model]> { .automatic }
        }
        """,
        """
        final class Pages: PageAPIRequest<PageModel<Model>>, APIManager {
            let (path, method) = ("/pages", HTTPMethod.get)
            var responseSerializer: ResponseSerializer<PageModel<Model>> { .automatic }
        }
        """,
    ]

    @Test(arguments: 0..<8) func `No form of a request accepts a model of the main actor`(_ index: Int) async throws {
        let model = "import Errand\nstruct Model: Decodable { let id: Int }\n"
        let nonisolated = model.replacing("struct", with: "nonisolated struct") + typed[index]
        let verdict = try await TypeChecker.check(nonisolated, isolation: .mainActor)
        #expect(verdict.succeeded, "\(verdict.output)")
        let wrong = try await TypeChecker.check(model + typed[index], isolation: .mainActor)
        #expect(!wrong.succeeded)
        let message = "main actor-isolated conformance of 'Model' to 'Decodable' cannot satisfy conformance requirement"
        #expect(wrong.output.contains(message), "\(wrong.output)")
    }

    @Test(arguments: 0..<8) func `No form of a request accepts a type that is not Decodable`(_ index: Int) async throws
    {
        let source = "import Errand\nstruct Model: Sendable { let id: Int }\n" + typed[index]
        let verdict = try await TypeChecker.check(source)
        #expect(!verdict.succeeded)
        let messages = [
            "Response must be Decodable off the main actor", "'Model' does not conform to protocol 'Decodable'",
        ]
        #expect(messages.contains { verdict.output.contains($0) }, "\(verdict.output)")
        if !typed[index].contains("PageModel") { #expect(verdict.output.contains(messages[0]), "\(verdict.output)") }
    }

    @Test(arguments: TypeChecker.Isolation.allCases)
    func `A request of every type with a serializer compiles without one`(
        _ isolation: TypeChecker.Isolation
    ) async throws {
        let source = """
            import Errand
            import Foundation
            nonisolated struct Model: Codable { let id: Int }
            nonisolated struct Opaque: Sendable {}
            @MainActor func make<Value: Decodable & Sendable>(_ type: Value.Type) -> APIRequest<Value> {
                APIRequest<Value>("/a", responseSerializer: .automatic)
            }
            @MainActor func load() async throws -> [Model] {
                try await APIRequest<Void>("/a", method: .post).value()
                print(try await APIRequest<String>("/a").value(), try await APIRequest<Data>("/a").value())
                print(try await APIRequest<JSONValue>("/a").value(), try await APIRequest<DownloadedFile>("/a").value().url)
                print(try await APIRequest<Model?>("/a").value()?.id ?? 0, try await APIRequest<[String: Int]>("/a").value())
                print(APIRequest<Opaque>("/a", responseSerializer: .constant(Opaque())), make(Model.self))
                let void: ResponseSerializer<Void> = .automatic, file: ResponseSerializer<DownloadedFile> = .automatic
                print(APIRequest("/a", responseSerializer: void.map { 1 }), APIRequest("/a", responseSerializer: file))
                return try await APIRequest("/a").value()
            }
            """
        let verdict = try await TypeChecker.check(source, isolation: isolation)
        #expect(verdict.succeeded, "\(verdict.output)")
    }

    @Test func `An error presenter that is a value does not compile`() async throws {
        let source = right + "\nstruct Banner: ErrorPresenter { func presentError(_: APIError, of: BaseAPIRequest) {} }"
        let verdict = try await TypeChecker.check(source)
        #expect(!verdict.succeeded)
        #expect(verdict.output.contains("non-class type 'Banner' cannot conform to class"), "\(verdict.output)")
    }

    @Test func `A relogin handler that is a value does not compile`() async throws {
        let source = isolated.replacing("final class Account", with: "struct Account")
        let verdict = try await TypeChecker.check(source, isolation: .mainActor)
        #expect(!verdict.succeeded)
        #expect(verdict.output.contains("non-class type 'Account' cannot conform to class"), "\(verdict.output)")
    }

    // MARK: Parameters

    @Test(arguments: [
        (#"["f": ["a": 1, "b": "x", "c": nil] as APIParams, "l": [1, "x"] as JSONValue]"#, nil),
        (#"["f": ["a": 1, "b": "x"]]"#, "cannot convert value of type '[String : Any]' to expected dictionary value"),
        (
            #"["f": ["a": Date.self] as APIParams]"#,
            "cannot convert value of type 'Date.Type' to expected dictionary value"
        ),
        (#"["f": [1: 2] as APIParams]"#, "cannot convert value of type 'Int' to expected dictionary key type"),
    ])
    func `A literal of parameters has names and encodable values`(_ literal: String, _ standardError: String?)
        async throws
    {
        let source = "import Errand\nimport Foundation\nlet params: APIParams = \(literal)"
        let verdict = try await TypeChecker.check(source)
        #expect(verdict.succeeded == (standardError == nil), "\(verdict.output)")
        if let standardError { #expect(verdict.output.contains(standardError), "\(verdict.output)") }
    }
}
