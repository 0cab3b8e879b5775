import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Content-Disposition", .timeLimit(.minutes(10)))
struct ContentDispositionTests {
    private struct Vectors: Decodable {
        struct Vector: Decodable {
            struct Parsed: Decodable { let parameters: [String: JSONValue] }
            let args: [JSONValue]
            let expected: Parsed?
        }
        let parse: [Vector]
    }

    @Test(.enabled(if: SharedData.contentDisposition.exists, "no shared data"))
    func `The file name of each vector is found`() throws {
        let vectors = try SharedData.contentDisposition.json("jshttp-vectors.json", as: Vectors.self).parse
        var count = 0
        for vector in vectors where vector.args.count == 1 {
            guard let header = vector.args[0].string, let expected = vector.expected else { continue }
            #expect(ContentDisposition.filename(in: header) == expected.parameters["filename"]?.string, "\(header)")
            count += 1
        }
        // The others are about options of that library: fields of forms, and no RFC 8187.
        #expect(count == 127)
        #expect(vectors.count == 136)
        for vector in vectors {
            guard let header = vector.args[0].string else { continue }
            let name = SafeFilename.name(ContentDisposition.filename(in: header), url: URL("http://a.test/"))
            #expect(name == SafeFilename.safe(name) && !name.contains("/"), "\(header)")
        }
    }

    @Test(.fault(117), .enabled(if: SharedData.naughtyStrings.exists, "no shared data"))
    func `Any text is a safe component of a path, or none`() throws {
        let texts = try SharedData.naughtyStrings.json("blns.json", as: [String].self)
        var safe = 0
        for text in texts + texts.map({ "../" + $0 }) + texts.map({ String(repeating: $0, count: 300) }) {
            guard let name = SafeFilename.safe(text) else { continue }
            safe += 1
            #expect(name.utf8.count <= 241 && !name.isEmpty && name.utf8.first != UInt8(ascii: "."), "\(name)")
            #expect(!name.contains { "/\\\0\n\r".contains($0) })
            #expect(!name.hasSuffix(".") && !name.hasSuffix(" "))
        }
        #expect(safe > 1_000)
    }

    @Test(arguments: [
        ("nul", "_nul"), ("COM1.txt", "_COM1.txt"), ("com10.txt", "com10.txt"), (" .a ", "a"), ("a.", "a"),
        ("...", nil),
        ("C:\\temp\\a.txt", "a.txt"), ("a/", nil), ("\u{202E}txt.exe", "txt.exe"), ("a\u{0}b", "ab"),
        (".\u{FE0F}bashrc", "\u{FE0F}bashrc"), (".\u{301}x", "\u{301}x"), ("CON .txt", "_CON .txt"),
        ("CON.\u{301}x", "_CON.\u{301}x"), ("com\u{B9}", "_com\u{B9}"),
    ]) func `Reserved and hidden names are changed`(_ name: String, _ expected: String?) {
        #expect(SafeFilename.safe(name) == expected)
    }

    @Test func `A long name keeps its extension`() {
        let name = SafeFilename.safe(String(repeating: "ä", count: 300) + ".tar.gz")
        #expect(name?.hasSuffix("ä.gz") == true)
        #expect(name.map { $0.utf8.count <= 240 } == true)
        #expect(SafeFilename.name(nil, url: URL("http://a.test/")) == "download")
        #expect(
            SafeFilename.name("..", url: URL("http://a.test/b%2Fc.txt?d")) == "c.txt"
        )
    }
}
