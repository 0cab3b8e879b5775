import Foundation
import Testing

@testable import ErrandTestSupport

@Suite("A reader of the README and the articles finds what an app uses")
struct ArticleTests {
    /// Where the declarations are that an app sets, reads or calls.
    private static let sources = [
        "Errand/Service/APIService.swift", "Errand/Service/Envelope.swift", "Errand/Service/ErrorMessages.swift",
        "Errand/Requests/BaseAPIRequest.swift",
        "Errand/Requests/APIManager.swift", "Errand/Lists/PageAPIRequest.swift", "Errand/Lists/ListEdit.swift",
        "Errand/Proxy/APIProxyConfiguration.swift", "Errand/Redaction/Redactor.swift",
        "ErrandTesting/ScriptedTransport.swift",
        "ErrandTesting/HTTPRequest+Content.swift", "ErrandTesting/HTTPResponse+Scripts.swift",
        "ErrandTesting/ManualClock.swift", "ErrandTesting/RequestRecorder.swift", "ErrandTesting/SharedProxy.swift",
    ]

    private static let articles = "Sources/Errand/Errand.docc"

    /// The names in the code of a document: in its blocks and between backticks.
    private static func names(inCodeOf document: String) -> Set<String> {
        let parts = document.split(separator: "```", omittingEmptySubsequences: false)
        let code = parts.enumerated().flatMap { index, part in
            index.isMultiple(of: 2) ? part.matches(of: /`+([^`\n]+)`+/).map { String($0.1) } : [String(part)]
        }
        return Set(code.flatMap { $0.matches(of: /\w+/).map { String($0.0) } })
    }

    /// The names of the public members and functions in a source, without what only other functions call.
    private static func publicNames(in source: String) -> [String] {
        let declaration =
            /(?m)^ *(?:@\w+(?:\([^)]*\))? )*(?:public|open) (?:[a-z]+(?:\(set\))? )*(?:var|let|func|case) (\w+)/
        return source.matches(of: declaration).map { String($0.1) }.filter {
            !["description", "customMirror", "hash"].contains($0)
        }
    }

    private static func namesInDocuments() throws -> Set<String> {
        let files = try FileManager.default.contentsOfDirectory(atPath: TypeChecker.root.appending(path: articles).path)
        let paths = ["README.md"] + files.filter { $0.hasSuffix(".md") }.map { "\(articles)/\($0)" }
        return try paths.reduce(into: []) { $0.formUnion(names(inCodeOf: try TypeChecker.text(of: $1))) }
    }

    @Test(arguments: sources) func `Every public member of what an app uses is in an article`(_ path: String) throws {
        let names = Self.publicNames(in: try TypeChecker.text(of: "Sources/\(path)"))
        #expect(!names.isEmpty)
        let missing = try Set(names).subtracting(Self.namesInDocuments()).sorted()
        #expect(
            missing.isEmpty,
            "\(missing.joined(separator: ", ")) of \(path): add a sentence to the article that fits"
        )
    }

    @Test func `A member that no document has is found, and one in prose alone does not count`() {
        let source = """
            public var a: Int { 1 }
                @discardableResult public static func b() {}
                public private(set) var c = 1
                var hidden = 1
            public var description: String
            """
        #expect(Self.publicNames(in: source) == ["a", "b", "c"])
        #expect(
            Self.names(inCodeOf: "prose `one.two`\n```swift\nlet three = 1\n```\nmore ``four``") == [
                "one", "two", "swift", "let", "three", "1", "four",
            ]
        )
    }
}
