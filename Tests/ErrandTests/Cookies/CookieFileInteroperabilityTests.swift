import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Cookie files of other tools", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CookieFileInteroperabilityTests {
    private let folder: TemporaryFolder
    private let url = URL("https://shop.example.org/")
    private let noon = Date(timeIntervalSince1970: 1_800_000_000)

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test(arguments: [
        // Python's MozillaCookieJar writes session cookies like this.
        ("shop.example.org\tFALSE\t/\tFALSE\t\ta\t1", "a=1", nil),
        ("shop.example.org\tFALSE\t/\tFALSE\t1800000100.75\ta\t1", "a=1", 1_800_000_100),
        ("shop.example.org\tFALSE\t/\tFALSE\t1800000100\ta", "a=", 1_800_000_100),
    ])
    func `Lines of other tools are accepted`(_ line: String, _ header: String, _ expiry: TimeInterval?) throws {
        try Data("# Netscape HTTP Cookie File\n\(line)\n".utf8).write(to: folder.file)
        let jar = CookieJar(file: folder.file, at: noon) { [weak folder] in recordIssue($0, while: folder) }
        #expect(jar.header(for: url, at: noon) == header)
        #expect(jar.cookies.first?.expires?.timeIntervalSince1970 == expiry)
    }

    @Test(arguments: [
        "shop.example.org\tFALSE\t/\tFALSE\tsoon\ta\t1", "shop.example.org\tFALSE\t/\tFALSE\t1.5e9\ta\t1",
        "shop.example.org\tFALSE\t/\tFALSE\t0", "shop.example.org\tFALSE\t/\tFALSE\t0\ta\t1\t2",
    ])
    func `Invalid lines are damage`(_ line: String) {
        #expect(CookieFileFormat.decode(Array("\(line)\n".utf8), at: noon).damage != nil)
    }

    @Test(
        arguments: ["", "# Netscape HTTP Cookie File\n", "# http://curl.haxx.se/rfc/cookie_spec.html\r\n\r\n"],
        [
            "shop.example.org\tFALSE\t/\tFALSE\t0\tz\t1", "shop.example.org\tFALSE\t/\tFALSE\t0\tz\t1\r",
            "shop.example.org\tFALSE\t/\tFALSE\t0\tz", "#HttpOnly_shop.example.org\tFALSE\t/\tFALSE\t0\tz\t1",
            ".example.org\tTRUE\t/\tFALSE\t1800000100\tz\t", "# the end", "#", "",
        ]
    )
    func `A file without a final line feed is as complete as one with it`(_ head: String, _ last: String) throws {
        let text = "\(head)shop.example.org\tFALSE\t/\tFALSE\t0\ta\t1\n\(last)"
        let complete = CookieFileFormat.decode(Array("\(text)\n".utf8), at: noon)
        #expect(CookieFileFormat.decode(Array(text.utf8), at: noon).cookies == complete.cookies)
        try Data(text.utf8).write(to: folder.file)
        let jar = CookieJar(file: folder.file, at: noon) { [weak folder] in recordIssue($0, while: folder) }
        #expect(jar.cookies.map(\.name) == (last.contains("\t") ? ["a", "z"] : ["a"]))
        #expect(try !folder.names.contains { $0.contains("corrupt") })
    }

    @Test func `A last line that is no cookie is damage, with a line feed and without`() {
        for end in ["", "\n"] {
            let text = "a.test\tFALSE\t/\tFALSE\t0\ta\t1\na.test\tFALSE\t/\tFA\(end)"
            let contents = CookieFileFormat.decode(Array(text.utf8), at: noon)
            #expect(contents.damage != nil && contents.cookies.count == 1)
        }
    }

    @Test func `A file may be as large as the cookies of its jar`() throws {
        let padding = Data(repeating: UInt8(ascii: "#"), count: 33 << 20)
        try (padding + Data("\nshop.example.org\tFALSE\t/\tFALSE\t0\ta\t1\n".utf8)).write(to: folder.file)
        let jar = CookieJar(file: folder.file, capacity: 10_000) { [weak folder] in recordIssue($0, while: folder) }
        #expect(jar.cookies.map(\.name) == ["a"])
    }
}
