import Foundation
import Testing

@testable import ErrandTestSupport

/// The folders of `Sources/Errand` are layers: a file names only types of the same layer and of lower ones.
@Suite("Layers")
struct LayerTests {
    /// From the lowest to the highest; the folders of one row may name each other.
    ///
    /// Monitoring is beside Service, because a service has monitors, whose events contain its errors and responses.
    private static let layers: [[String]] = [
        ["System"],
        ["HTTP", "Redaction"],
        ["Cookies", "Transport"],
        ["Cache", "Coding", "Monitoring", "Service"],
        ["Proxy"],
        ["Delegates", "Lists", "Requests", "Streams"],
    ]

    /// One source file without its comments and strings.
    private struct Source {
        let path: String
        let text: String
        var folder: String { String(path.prefix { $0 != "/" }) }
        var layer: Int? { LayerTests.layers.firstIndex { $0.contains(folder) } }

        /// The types that the file declares for others.
        var types: [String] {
            text.matches(
                of: /(?m)^(?:@\w+(?:\([^)]*\))? +)*((?:[a-z]+ +)*)(?:struct|class|enum|protocol|actor|typealias) +(\w+)/
            ).filter { !$0.output.1.contains("private") }.map { String($0.output.2) }
        }

        /// The type names in the file, other than members.
        var names: Set<String> {
            Set(text.matches(of: /(?:^|[^.\w])([A-Z]\w*)/).map { String($0.output.1) })
        }
    }

    private static func sources() throws -> [Source] {
        let root = TypeChecker.root.appending(path: "Sources/Errand")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path)
        return try paths.filter { $0.hasSuffix(".swift") }.map { path in
            let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
            return Source(path: path, text: stripped(text))
        }
    }

    private static func stripped(_ text: String) -> String {
        text.replacing(#/"""[\s\S]*?"""/#, with: "").replacing(#/\/\/[^\n]*/#, with: "")
            .replacing(#/"(?:\\.|[^"\\\n])*"/#, with: "")
    }

    /// The names of upper types in lower files, as "file: type".
    private static func violations(in sources: [Source]) -> [String] {
        var layers: [String: Int] = [:]
        for source in sources { for type in source.types { layers[type] = source.layer } }
        return sources.flatMap { source in
            source.names.filter { layers[$0, default: 0] > source.layer ?? .max }.sorted().map {
                "\(source.path): \($0)"
            }
        }
    }

    @Test func `Every folder has a layer`() throws {
        let sources = try Self.sources()
        #expect(sources.count > 80)
        #expect(Set(sources.filter { $0.layer == nil }.map(\.path)).isEmpty)
    }

    @Test func `No file names a type of a higher layer`() throws {
        let violations = try Self.violations(in: Self.sources())
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test func `A type of a higher layer that is named is found`() {
        let high = Source(path: "Proxy/High.swift", text: Self.stripped("public final class High: Sendable {}\n"))
        let low = Source(
            path: "HTTP/Low.swift",
            text: Self.stripped("// High\nlet text = \"High\"\nlet high: High? = nil\n")
        )
        let member = Source(path: "HTTP/Member.swift", text: Self.stripped("let high = Module.High.self\n"))
        #expect(Self.violations(in: [high, low, member]) == ["HTTP/Low.swift: High"])
    }

    // MARK: The way of a load

    /// The files of the types that a load visits, with those that each of them leads to: once down, once up.
    private static let way = [
        "Requests/BaseAPIRequest.swift": ["APIProxy", "LoadHistory"],
        "Requests/Load.swift": ["APIProxy", "Call"],
        "Proxy/APIProxy.swift": ["HTTPTransport", "LoadTable", "MainDelivery", "RequestQueue"],
        "Proxy/APIProxy+Loads.swift": ["Call", "LoadRunner", "QueuePlace"],
        "Proxy/LoadRunner.swift": ["Call", "CacheReader", "CacheStage", "LoadAttempt", "LoadRecovery", "LoadTurn"],
        "Proxy/LoadTurn.swift": ["LoadAttempt", "QueueSlot", "SentLogin"],
        "Proxy/LoadAttempt.swift": ["Call", "Exchange", "RequestBuilder", "ResponseReader"],
        "Proxy/Exchange.swift": ["CookieSession"],
        "Coding/RequestBuilder.swift": ["RequestDraft"],
    ]

    /// The types that no step behind them names.
    private static let earlier: [String: Set] = [
        "Proxy/LoadRunner.swift": ["BaseAPIRequest", "Load", "LoadHistory", "MainDelivery"],
        "Proxy/LoadTurn.swift": ["BaseAPIRequest", "CacheStage", "Exchange", "Load", "LoadRecovery", "LoadRunner"],
        "Proxy/LoadAttempt.swift": ["BaseAPIRequest", "Load", "LoadRecovery", "LoadRunner", "LoadTurn", "QueueSlot"],
        "Proxy/CacheReader.swift": ["BaseAPIRequest", "Exchange", "Load", "LoadRunner", "LoadTurn", "QueueSlot"],
        "Proxy/LoadRecovery.swift": ["BaseAPIRequest", "Exchange", "Load", "LoadAttempt", "LoadRunner", "LoadTurn"],
        "Proxy/Exchange.swift": ["BaseAPIRequest", "Call", "Load", "LoadRunner", "QueueSlot", "RequestQueue"],
        "Proxy/Exchange+Files.swift": ["BaseAPIRequest", "Call", "Load", "LoadRunner", "QueueSlot", "RequestQueue"],
        "Proxy/RequestQueue.swift": ["APIProxy", "Call", "Load", "LoadRunner", "LoadTable"],
        "Proxy/LoadTable.swift": ["APIProxy", "BaseAPIRequest", "Call", "Load", "LoadRunner", "RequestQueue"],
        "Proxy/MainDelivery.swift": ["APIProxy", "Load", "LoadTable"],
        "Coding/RequestBuilder.swift": ["Call", "Exchange", "LoadRunner", "ResponseReader"],
        "Coding/ResponseReader.swift": ["Call", "Exchange", "LoadRunner", "RequestBuilder"],
    ]

    @Test func `A load goes once down and once up: each step names the next one, and none an earlier one`() throws {
        let names = Dictionary(uniqueKeysWithValues: try Self.sources().map { ($0.path, $0.names) })
        for (path, next) in Self.way {
            #expect(names[path]?.isSuperset(of: next) == true, "\(path)")
        }
        for (path, earlier) in Self.earlier {
            #expect(names[path]?.intersection(earlier) == [], "\(path)")
        }
    }
}
