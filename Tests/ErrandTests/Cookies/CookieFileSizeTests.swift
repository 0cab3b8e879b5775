import Foundation
import Testing

@testable import Errand

@Suite("Cookie files of large jars", .takesTurns, .timeLimit(.minutes(10)))
struct CookieFileSizeTests {
    @Test func `A file may be as large as the cookies of its jar`() throws {
        let folder = try TemporaryFolder()
        let padding = Data(repeating: UInt8(ascii: "#"), count: 33 << 20)
        try (padding + Data("\nshop.example.org\tFALSE\t/\tFALSE\t0\ta\t1\n".utf8)).write(to: folder.file)
        let jar = CookieJar(file: folder.file, capacity: 10_000) { Issue.record("\($0)") }
        #expect(jar.cookies.map(\.name) == ["a"])
    }
}
