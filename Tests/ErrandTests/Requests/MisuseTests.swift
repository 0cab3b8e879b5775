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

    @Test func `The error for a model of the main actor says how to declare it`() async throws {
        let source = isolated.replacing("nonisolated struct Model", with: "struct Model")
        let verdict = try await TypeChecker.check(source, isolation: .mainActor)
        #expect(!verdict.succeeded)
        for part in [
            "Response must be Decodable off the main actor: declare a 'nonisolated struct' or a responseSerializer",
            "main actor-isolated conformance of 'Model' to 'Decodable' cannot satisfy conformance requirement",
            // A line of the documentation, which the compiler shows with its note.
            "In a module with the default isolation `MainActor`, declare the items `nonisolated struct`.",
        ] {
            #expect(verdict.output.contains(part), "\(verdict.output)")
        }
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
        "let one = APIRequest<Model>(\"/model\")",
        "let several = APIRequest<[Model]>(\"/models\", method: .post, params: [\"a\": 1])",
        "let optional = APIRequest<Model?>(\"/model\")",
        "let page = APIRequest<PageModel<Model>>(\"/pages\")",
        "let automatic = APIRequest<Model>(\"/model\", responseSerializer: .automatic)",
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

    /// Type-checks all forms as one program; the errors in the lines of each form.
    private func check(
        _ model: String,
        isolation: TypeChecker.Isolation = .nonisolated
    ) async throws -> (verdict: TypeChecker.Verdict, errors: [String]) {
        let head = "import Errand\n\(model)\n"
        let verdict = try await TypeChecker.check(head + typed.joined(separator: "\n"), isolation: isolation)
        var line = head.split(separator: "\n").count
        let errors = typed.map { form in
            let lines = line + 1...line + form.split(separator: "\n").count
            line = lines.upperBound
            return lines.map { verdict.errors(inLine: $0) }.joined()
        }
        return (verdict, errors)
    }

    @Test func `No form of a request accepts a model of the main actor`() async throws {
        let model = "struct Model: Decodable { let id: Int }"
        let right = try await check("nonisolated \(model)", isolation: .mainActor)
        #expect(right.verdict.succeeded, "\(right.verdict.output)")
        let wrong = try await check(model, isolation: .mainActor)
        let message = "main actor-isolated conformance of 'Model' to 'Decodable' cannot satisfy conformance requirement"
        for (form, errors) in zip(typed, wrong.errors) {
            #expect(errors.contains(message), "\(form): \(wrong.verdict.output)")
        }
    }

    @Test func `No form of a request accepts a type that is not Decodable`() async throws {
        let (verdict, errors) = try await check("struct Model: Sendable { let id: Int }")
        let messages = [
            "Response must be Decodable off the main actor", "'Model' does not conform to protocol 'Decodable'",
        ]
        for (form, errors) in zip(typed, errors) {
            #expect(messages.contains(where: errors.contains), "\(form): \(verdict.output)")
            if !form.contains("PageModel") { #expect(errors.contains(messages[0]), "\(form): \(verdict.output)") }
        }
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
