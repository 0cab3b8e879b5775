import Foundation
import Testing

@testable import Errand

@Suite("Cookie files of other tools", .timeLimit(.minutes(10)))
struct CookieFileToleranceTests {
    private let folder: TemporaryFolder
    private let url = URL("https://shop.example.org/")
    private let noon = Date(timeIntervalSince1970: 1_800_000_000)

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test(arguments: [
        // Python's MozillaCookieJar: a session cookie.
        ("shop.example.org\tFALSE\t/\tFALSE\t\ta\t1", "a=1", nil),
        ("shop.example.org\tFALSE\t/\tFALSE\t1800000100.75\ta\t1", "a=1", 1_800_000_100),
        ("shop.example.org\tFALSE\t/\tFALSE\t1800000100\ta", "a=", 1_800_000_100),
    ])
    func `Lines of other tools are cookies`(_ line: String, _ header: String, _ expiry: TimeInterval?) throws {
        try Data("# Netscape HTTP Cookie File\n\(line)\n".utf8).write(to: folder.file)
        let jar = CookieJar(file: folder.file, at: noon) { Issue.record("\($0)") }
        #expect(jar.header(for: url, at: noon) == header)
        #expect(jar.cookies.first?.expires?.timeIntervalSince1970 == expiry)
    }

    @Test(arguments: [
        "shop.example.org\tFALSE\t/\tFALSE\tsoon\ta\t1", "shop.example.org\tFALSE\t/\tFALSE\t1.5e9\ta\t1",
        "shop.example.org\tFALSE\t/\tFALSE\t0", "shop.example.org\tFALSE\t/\tFALSE\t0\ta\t1\t2",
    ])
    func `Lines that nobody would write are damage`(_ line: String) {
        #expect(CookieFileFormat.decode(Array("\(line)\n".utf8), at: noon).damage != nil)
    }
}
