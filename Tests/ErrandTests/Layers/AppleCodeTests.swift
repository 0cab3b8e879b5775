import Foundation
import Testing

@testable import ErrandTestSupport

/// Code that only Apple's platforms compile cannot be tested on Linux, so it is little, in separate files, and listed.
@Suite("Code for Apple's platforms")
struct AppleCodeTests {
    /// One source file, and the lines that only Apple's platforms compile.
    private struct Source {
        let path: String
        let lines: Int
        let appleLines: Int
        var name: String { String(path.split(separator: "/").last ?? "").replacing("+Apple.swift", with: "") }
        var isAppleOnly: Bool { appleLines * 2 > lines }

        init(path: String, text: String) {
            self.path = path
            let code = text.split(separator: "\n").filter { !$0.allSatisfy(\.isWhitespace) }
            lines = code.count
            appleLines = text.contains("#if") ? AppleCodeTests.appleLines(of: code) : 0
        }
    }

    @Test func `The privacy manifest names what the libraries use, and only Errand uses it`() throws {
        let root = TypeChecker.root.appending(path: "Sources")
        let manifest = try PropertyListDecoder().decode(
            PrivacyManifest.self,
            from: Data(contentsOf: root.appending(path: "Errand/PrivacyInfo.xcprivacy"))
        )
        #expect(
            manifest.NSPrivacyAccessedAPITypes.map(\.NSPrivacyAccessedAPIType) == [
                "NSPrivacyAccessedAPICategoryFileTimestamp"
            ]
        )
        #expect(manifest.NSPrivacyAccessedAPITypes.allSatisfy { !$0.NSPrivacyAccessedAPITypeReasons.isEmpty })
        // Those of Apple's list that have names of their own; others are `mach_absolute_time`, `UserDefaults` and free space.
        let times = #"\b(?:[lf]?stat|fstatat|getattrlist)\(|(?i:(?:modification|creation)Date(?:Key)?\b)"#
        let others =
            #"mach_absolute_time|systemUptime|UserDefaults|\bf?statv?fs\(|volumeAvailableCapacity|systemFreeSize"#
        let libraries = try FileManager.default.contentsOfDirectory(atPath: root.path).filter { $0.hasPrefix("Errand") }
        var users: Set<String> = []
        for library in libraries {
            let folder = root.appending(path: library)
            for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where path.hasSuffix(".swift")
            {
                let text = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
                if text.range(of: times, options: .regularExpression) != nil { users.insert(library) }
                #expect(text.range(of: others, options: .regularExpression) == nil, "\(library)/\(path)")
            }
        }
        #expect(users == ["Errand"])
    }

    private struct PrivacyManifest: Decodable {
        struct Category: Decodable {
            let NSPrivacyAccessedAPIType: String
            let NSPrivacyAccessedAPITypeReasons: [String]
        }

        let NSPrivacyAccessedAPITypes: [Category]
    }

    private static let platforms = ["iOS", "macOS", "tvOS", "watchOS", "visionOS"]

    private static func sources() throws -> [Source] {
        let root = TypeChecker.root.appending(path: "Sources")
        return try FileManager.default.subpathsOfDirectory(atPath: root.path).filter { $0.hasSuffix(".swift") }.sorted()
            .map { Source(path: $0, text: try String(contentsOf: root.appending(path: $0), encoding: .utf8)) }
    }

    /// Returns how many lines are compiled on one of Apple's platforms and not on Linux, without those of conditions.
    private static func appleLines(of lines: [Substring]) -> Int {
        let onLinux = compiled(lines, on: "Linux")
        let onApple = platforms.map { compiled(lines, on: $0) }
        return lines.indices.count { index in !onLinux[index] && onApple.contains { $0[index] } }
    }

    /// Returns for each line whether it is compiled on a platform; `false` for the lines of conditions.
    private static func compiled(_ lines: [Substring], on platform: String) -> [Bool] {
        var branches: [(isActive: Bool, wasActive: Bool)] = []
        return lines.map { line in
            let words = line.split(separator: " ", maxSplits: 1)
            let condition = words.count > 1 ? String(words[1]) : ""
            switch words.first {
            case "#if":
                let holds = holds(condition, on: platform)
                branches.append((holds, holds))
            case "#elseif", "#else":
                let former = branches.removeLast().wasActive
                let holds = !former && (words.first == "#else" || holds(condition, on: platform))
                branches.append((holds, former || holds))
            case "#endif": branches.removeLast()
            default: return branches.allSatisfy(\.isActive)
            }
            return false
        }
    }

    /// Returns whether a condition without parentheses holds in a build of a package for a platform.
    private static func holds(_ condition: String, on platform: String) -> Bool {
        condition.split(separator: " || ").contains { alternative in
            alternative.split(separator: " && ").allSatisfy { term in
                let name = term.drop { $0 == "!" }
                return isTrue(name, on: platform) != term.hasPrefix("!")
            }
        }
    }

    private static func isTrue(_ term: Substring, on platform: String) -> Bool {
        switch term {
        case "os(\(platform))": true
        case "canImport(FoundationNetworking)", "canImport(Glibc)": platform == "Linux"
        case "canImport(UIKit)": platform != "Linux" && platform != "macOS"
        case _ where appleModules.contains(term): platform != "Linux"
        default: false
        }
    }

    /// The conditions that hold on all of Apple's platforms.
    private static let appleModules = Set<Substring>(
        ["Darwin", "os", "Security", "CryptoKit", "Network", "SwiftUI", "ObjectiveC"].map { "canImport(\($0))" }
    )

    /// Returns the parts of the conditions of a text that `isTrue` does not know.
    private static func unknownTerms(of text: String) -> [Substring] {
        let others: [Substring] = [
            "canImport(FoundationNetworking)", "canImport(Glibc)", "canImport(UIKit)", "DEBUG", "THREAD_SANITIZER",
            "arch(x86_64)",
        ]
        let known = appleModules.union(others).union((platforms + ["Linux"]).map { "os(\($0))" })
        return text.split(separator: "\n").flatMap { line in
            let words = line.split { " |&!".contains($0) }
            return words.first == "#if" || words.first == "#elseif" ? Array(words.dropFirst()) : []
        }.filter { !known.contains($0) }
    }

    @Test func `Code for Apple's platforms alone is in files that CONTRIBUTING lists`() throws {
        let sources = try Self.sources().filter { $0.appleLines > 0 }
        for source in sources { print("\(source.appleLines) lines for Apple's platforms: \(source.path)") }
        print("\(sources.reduce(0) { $0 + $1.appleLines }) lines for Apple's platforms in \(sources.count) files")
        #expect(sources.filter { $0.isAppleOnly && !$0.path.hasSuffix("+Apple.swift") }.map(\.path) == [])
        let document = try TypeChecker.text(of: ".github/CONTRIBUTING.md")
        let list = try #require(document.components(separatedBy: "\n### Apple's platforms\n").dropFirst().first)
        #expect(sources.filter { $0.isAppleOnly && !list.contains("`\($0.name)`") }.map(\.path) == [])
    }

    @Test func `Every condition of the sources is known`() throws {
        let root = TypeChecker.root.appending(path: "Sources")
        let sources = try FileManager.default.subpathsOfDirectory(atPath: root.path).filter { $0.hasSuffix(".swift") }
        for path in sources {
            let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
            #expect(Self.unknownTerms(of: text) == [], "\(path)")
        }
    }

    @Test(arguments: ["canImport(Combine)", "!canImport(AppKit)", "os(iOS) && targetEnvironment(simulator)", "os(OSX)"])
    func `A condition that is not known is found`(_ condition: String) {
        #expect(Self.unknownTerms(of: "let a = 1\n    #if \(condition)\n#endif").count == 1)
    }

    @Test func `A file that is named for Apple's platforms has no other code`() throws {
        let named = try Self.sources().filter { $0.path.hasSuffix("+Apple.swift") }
        #expect(named.count > 5)
        #expect(named.filter { !$0.isAppleOnly }.map(\.path) == [])
    }

    @Test(
        arguments: [
            ("#if os(Linux)\nlet a = 1\n#else\nlet b = 2\n#endif", 1), ("#if canImport(Darwin)\nlet a = 1\n#endif", 1),
            ("#if !canImport(FoundationNetworking)\nlet a = 1\n#endif\nlet b = 2", 1),
            ("#if canImport(UIKit) && !os(watchOS)\nlet a = 1\n#if !os(tvOS)\nlet b = 2\n#endif\n#endif", 2),
            ("#if os(macOS) || os(Linux)\nlet a = 1\n#else\nlet b = 2\n#endif", 1),
            ("#if DEBUG\nlet a = 1\n#endif\nlet b = 2", 0),
        ]
    )
    func `Lines that Linux does not compile are counted`(_ text: String, _ count: Int) {
        #expect(Source(path: "File.swift", text: text).appleLines == count)
    }
}
