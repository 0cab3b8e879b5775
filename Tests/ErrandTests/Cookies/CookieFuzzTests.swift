import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// Header fields and files from a fixed seed, for ten minutes with `ERRAND_SLOW_TESTS=1` and for a second otherwise.
@Suite(.limitedConcurrency, .timeLimit(.minutes(15)))
struct CookieFuzzTests {
    private static let duration: Duration = CookieProbe.runsSlowTests ? .seconds(600) : .seconds(1)
    /// Fragments that are significant in the grammars.
    private static let pieces = [
        "a=b", "=", ";", "; ", "\t", " ", ",", "\"", "\0", "\u{7F}", "é", "Domain=", "example.org", ".org", "..",
        "127.0.0.1",
        "Path=", "/", "/shop", "Max-Age=", "-", "99999999999999999999", "0", "Expires=",
        "Thu, 31 Dec 9999 23:59:59 GMT",
        "00:00:00", "Feb", "29", "SameSite=", "None", "Secure", "HttpOnly", "__Host-", "__Secure-", "#HttpOnly_",
        "TRUE",
        "FALSE", "\n", "#Errand ", "#Errand-end ", "#Errand-cleared ", "\r", "::1", "xn--", "0x1",
    ].map { Array($0.utf8) }

    @Test("No header field and no file traps, and every stored cookie can be saved and read again")
    func survives() throws {
        let url = URL("https://shop.example.org/shop/cart")
        let end = ContinuousClock.now + Self.duration
        let jar = CookieJar()
        var (random, round) = (SplitMix(seed: 2026), 0)
        while ContinuousClock.now < end {
            round += 1
            for _ in 0..<100 { jar.store(setCookie: Self.bytes(&random), from: url, at: Self.date(&random)) }
            _ = CookieFileFormat.decode(Self.bytes(&random), at: Self.date(&random))
            let cookies = jar.cookies.filter { !$0.isExpired(at: .now) && CookieFileFormat.canRepresent($0) }
            let cleared = CookieTimestamp(.now)
            let written = CookieFileFormat.Contents(cookies: cookies, cleared: cleared)
            let contents = CookieFileFormat.decode(CookieFileFormat.encode(written), at: .now)
            try #require(contents.damage == nil, "round \(round) of seed 2026")
            try #require(contents.cleared == written.cleared, "round \(round) of seed 2026")
            try #require(contents.cookies.map(\.key) == cookies.map(\.key), "round \(round) of seed 2026")
            try #require(contents.cookies.map(\.updated) == cookies.map(\.updated), "round \(round) of seed 2026")
            try #require(contents.cookies.map(\.valueBytes) == cookies.map(\.valueBytes), "round \(round) of seed 2026")
            _ = jar.header(for: url)
        }
    }

    private static func bytes(_ random: inout SplitMix) -> [UInt8] {
        (0..<Int.random(in: 1...12, using: &random)).flatMap { _ -> [UInt8] in
            guard Bool.random(using: &random) else {
                return (0..<3).map { _ in UInt8.random(in: 0...255, using: &random) }
            }
            return pieces.randomElement(using: &random) ?? []
        }
    }

    private static func date(_ random: inout SplitMix) -> Date {
        let seconds: [TimeInterval] = [0, 1.8e9, -1e12, 1e300, .infinity, .nan]
        return Date(timeIntervalSince1970: seconds.randomElement(using: &random) ?? 0)
    }
}
