import Testing

@Suite(
    "Wrong use does not compile",
    .takesTurns,
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
    func `A request without one does not compile`(_ part: String, _ mistake: String, _ complaint: String) async throws {
        #expect(right.contains(part))
        let verdict = try await TypeChecker.check(right.replacing(part, with: mistake))
        #expect(!verdict.succeeded)
        #expect(verdict.output.contains(complaint), "\(verdict.output)")
    }
}
