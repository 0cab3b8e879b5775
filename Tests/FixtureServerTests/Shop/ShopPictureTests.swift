import Foundation
import TestSupport
import Testing

@testable import FixtureServer

@Suite("The shop's pictures", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ShopPictureTests {
    private let server: FixtureServer

    init() throws {
        server = try FixtureServer.startShop()
    }

    @Test func `A picture is a valid PNG of the size and colour of its article and view`() throws {
        var client = try ShopClient(server)
        try client.signIn()
        for (goods, view) in [(1001, 0), (1001, 49), (1022, 7)] {
            let reply = client.send("GET", "/goods/\(goods)/picture?view=\(view)")
            #expect(reply.header("Content-Type") == "image/png")
            let (expected, picture) = (ShopPicture(goods: goods, view: view), try #require(DecodedPNG(reply.body)))
            #expect(picture.width == expected.width && picture.height == expected.height)
            #expect(picture.rows.count == expected.height)
            let row = Array(repeatElement(expected.color, count: expected.width).joined())
            #expect(picture.rows.allSatisfy { $0 == row })
        }
    }

    @Test func `No two pictures of the shop have the same size`() {
        let pictures = (1001...1022).flatMap { goods in
            (0..<ShopPicture.viewCount).map { ShopPicture(goods: goods, view: $0) }
        }
        #expect(Set(pictures.map { [$0.width, $0.height] }).count == pictures.count)
    }

    @Test func `A picture may be stored by its customer alone, and is validated by its tag`() throws {
        var client = try ShopClient(server)
        try client.signIn()
        let reply = client.send("GET", "/goods/1001/picture?view=3")
        let tag = try #require(reply.header("ETag"))
        #expect(reply.header("Cache-Control") == "private, max-age=3600")
        let validated = client.send("GET", "/goods/1001/picture?view=3", ["If-None-Match: \(tag)"])
        #expect(validated.status == 304 && validated.header("Cache-Control") == "private, max-age=3600")
        #expect(client.send("GET", "/goods/1001/picture?view=4").header("ETag") != tag)
        let first = client.send("GET", "/goods/1001/picture")
        #expect(first.body == client.send("GET", "/goods/1001/picture?view=0").body)
    }

    @Test(arguments: [SessionExpiryStyle.http, .envelope])
    func `A picture needs the session, and every request for one is counted`(style: SessionExpiryStyle) throws {
        var client = try ShopClient(server)
        #expect(throws: ShopRefusal.signedOut(.http)) { try client.call("GET", "/goods/1001/picture") }
        try client.signIn()
        _ = try client.call("POST", "/debug/expire-session", #"{"after":1,"as":"\#(style.rawValue)"}"#)
        #expect(client.send("GET", "/goods/1001/picture?view=1").header("Content-Type") == "image/png")
        #expect(throws: ShopRefusal.signedOut(style)) { try client.call("GET", "/goods/1001/picture") }
        let log = try client.call("GET", "/debug/log", as: ShopLog.self)
        #expect(log.hits["/goods/1001/picture"] == 3 && log.refused == 2)
    }

    @Test func `An unknown article or view has no picture`() throws {
        var client = try ShopClient(server)
        try client.signIn()
        for name in ["1", "x"] {
            #expect(throws: ShopRefusal.notFound) { try client.call("GET", "/goods/\(name)/picture") }
        }
        for view in ["-1", "50", "x"] {
            #expect(throws: ShopRefusal.badParameter) { try client.call("GET", "/goods/1001/picture?view=\(view)") }
        }
    }
}

/// A PNG with one stored block of true colour, decoded by the specification alone; `nil` if anything in it is wrong.
private struct DecodedPNG {
    let width: Int
    let height: Int
    let rows: [[UInt8]]

    init?(_ file: [UInt8]) {
        guard file.starts(with: [137, 80, 78, 71, 13, 10, 26, 10]) else { return nil }
        var (rest, chunks) = (file.dropFirst(8), [(type: String, content: [UInt8])]())
        while !rest.isEmpty {
            guard rest.count >= 12 else { return nil }
            let length = Self.number(rest.prefix(4))
            guard rest.count >= 12 + length else { return nil }
            let named = rest.dropFirst(4).prefix(4 + length)
            guard Self.number(rest.dropFirst(8 + length).prefix(4)) == Self.crc(named) else { return nil }
            chunks.append((String(decoding: named.prefix(4), as: UTF8.self), Array(named.dropFirst(4))))
            rest = rest.dropFirst(12 + length)
        }
        guard chunks.map(\.type) == ["IHDR", "IDAT", "IEND"], chunks[2].content.isEmpty else { return nil }
        let header = chunks[0].content
        guard header.count == 13, header[8...] == [8, 2, 0, 0, 0], let pixels = Self.inflated(chunks[1].content)
        else { return nil }
        (width, height) = (Self.number(header[..<4]), Self.number(header[4..<8]))
        let stride = 1 + 3 * width
        guard pixels.count == stride * height else { return nil }
        let lines = (0..<height).map { pixels[$0 * stride..<($0 + 1) * stride] }
        guard lines.allSatisfy({ $0.first == 0 }) else { return nil }
        rows = lines.map { Array($0.dropFirst()) }
    }

    /// RFC 1950, and RFC 1951 section 3.2.4.
    private static func inflated(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= 11, bytes[0] & 15 == 8, number(bytes[..<2]) % 31 == 0, bytes[1] & 32 == 0, bytes[2] == 1
        else { return nil }
        let length = Int(bytes[3]) | Int(bytes[4]) << 8
        guard length ^ 0xFFFF == Int(bytes[5]) | Int(bytes[6]) << 8, bytes.count == 11 + length else { return nil }
        let content = bytes[7..<7 + length]
        let low = content.reduce(1) { $0 + Int($1) }
        let high = content.enumerated().reduce(length) { $0 + (length - $1.offset) * Int($1.element) }
        guard number(bytes.suffix(4)) == (high % 65_521) << 16 | low % 65_521 else { return nil }
        return Array(content)
    }

    /// Annex D of the PNG specification.
    private static func crc(_ bytes: some Sequence<UInt8>) -> Int {
        let register = bytes.reduce(UInt32.max) { register, byte in
            (0..<8).reduce(register ^ UInt32(byte)) { word, _ in word >> 1 ^ (word & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        return Int(~register)
    }

    private static func number(_ bytes: some Sequence<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
}
