import ErrandTesting
import FixtureServer
import Foundation
import Testing
import TestSupport

@testable import ErrandTestSupport

@Suite("The example as a program", .startsPrograms, .limitedConcurrency, .timeLimit(.minutes(10)))
struct GoodsTests {
    @Test func `It prints the goods of a category, and then all orders page by page`() async throws {
        let ending = try await TestProgram.run([TestProgram.built("goods")])
        #expect(ending.status == 0)
        #expect(ending.standardError == "")
        let pages = ending.lines.filter { $0.hasPrefix("page ") }
        #expect(pages == ["page 1: 50 of 137 orders", "page 2: 100 of 137 orders", "page 3: 137 of 137 orders"])
        let goods = try #require(ending.lines.firstIndex(of: pages[0]))
        #expect(ending.lines.prefix(goods).allSatisfy { $0.hasPrefix("10") })
        #expect(goods > 5)
        let orders = Set(ending.lines.dropFirst(goods).filter { !$0.hasPrefix("page ") })
        #expect(orders.count == 137)
    }

    @Test func `It has at most 70 lines`() throws {
        let text = try TypeChecker.text(of: "Sources/goods/Goods.swift")
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 71)
    }
}

@Suite("The shop's server command", .startsPrograms, .limitedConcurrency, .timeLimit(.minutes(10)))
@MainActor struct ServeTests {
    @Test("prints its address, responses, and ends when interrupted")
    func serves() async throws {
        let pipe = Pipe()
        let shop = try ShopProcess(["serve"], output: pipe)
        let greeting = await pipe.firstLine()
        let url = try #require(greeting.firstMatch(of: /http:\/\/127\.0\.0\.1:\d+/)?.output)
        let walk = try await ShopProcess.run(["--base-url", String(url), "--pictures", "50"])
        #expect(walk.status == 0, "\(walk.standardError)")
        shop.interrupt()
        #expect(try await shop.ending().status == 0)
    }
}

extension Pipe {
    /// Waits for the first line that is written into the pipe.
    fileprivate func firstLine() async -> String {
        let (parts, news) = AsyncStream.makeStream(of: Data.self)
        fileHandleForReading.readabilityHandler = { news.yield($0.availableData) }
        var text = Data()
        for await part in parts {
            text += part
            if part.isEmpty || part.contains(UInt8(ascii: "\n")) { break }
        }
        fileHandleForReading.readabilityHandler = nil
        return String(decoding: text, as: UTF8.self)
    }
}

@Suite("The shop's arguments", .startsPrograms, .limitedConcurrency, .timeLimit(.minutes(10)))
@MainActor struct ShopArgumentsTests {
    @Test("are explained on request")
    func help() async throws {
        let ending = try await ShopProcess.run(["--help"])
        #expect(ending.status == 0)
        #expect(ending.output.starts(with: "usage: shop"))
        #expect(ending.standardError == "")
    }

    @Test(
        "are refused in one line when they are invalid",
        arguments: [
            ["--color"], ["walk"], ["--base-url"], ["--base-url", "ftp://example.com"], ["--base-url="],
            ["--base-url", "http://a.example", "--base-url", "http://b.example"], ["--port", "80"],
            ["serve", "--port", "65536"], ["--report"], ["--report="], ["--pictures", "0"], ["--pictures", "75"],
            ["serve", "80"], ["resume"], ["download"],
        ]
    )
    func wrong(arguments: [String]) async throws {
        let ending = try await ShopProcess.run(arguments)
        #expect(ending.status == 64)
        #expect(ending.output == "")
        #expect(ending.standardError.wholeMatch(of: /shop: [^\n]+\n/) != nil)
    }
}

/// The built `shop` in a child process, which is ended at a deadline.
struct ShopProcess {
    private let folder: TemporaryFolder
    private let program: TestProgram

    /// Starts `shop` with `arguments` and a separate folder for temporary files.
    ///
    /// Its output is kept, except for the standard output when `output` is given.
    init(_ arguments: [String], output: Pipe? = nil) throws {
        folder = try TemporaryFolder()
        program = try TestProgram(
            [TestProgram.built("shop")] + arguments,
            environment: ["TMPDIR": folder.url.path],
            output: output
        )
    }

    /// Runs `shop` to its end.
    static func run(_ arguments: [String]) async throws -> TestProgram.Ending {
        try await ShopProcess(arguments).ending()
    }

    /// The files that the process has left in its folder for temporary files.
    var leftovers: [String] { get throws { try folder.names } }

    /// Waits for the process's end.
    func ending() async throws -> TestProgram.Ending { try await program.ending() }

    /// Sends the process `SIGINT`, as Ctrl-C does.
    func interrupt() { program.send(SIGINT) }
}

/// A shop with one fault; the raw value is the walk's message about it.
enum ShopFault: String, CaseIterable {
    case garbledName = "2 (Goods list) did not hold: 龙井茶叶 明前特级 250g is not among the goods"
    case wrongTotal = "3 (Cart) did not hold: the cart's total is not the sum of its lines"
    case missingOrder = "4 (Orders, page by page) did not hold: 137 orders were expected, 136 received"
    case missingLink =
        "5 (Orders in four ways, one placed meanwhile) did not hold: 140 orders were expected by link, 50 received"
    case soundPages = "6 (A page that fails, and its retry) did not hold: a request did not fail"
    case otherPicture = "7 (Avatar upload) did not hold: the server got other bytes"
    case shortInvoice = "8 (Invoice download) did not hold: the invoice has 9 bytes"
    case endlessSession = "10 (Expired session, HTTP 401) did not hold: 0 requests were refused, not 5"
    case otherWords =
        """
        12 (Errors and a timeout) did not hold: server was expected, this came: server, \
        GET /broken-business, HTTP 200, code 1, no
        """
    case acceptedCopy =
        "13 (Signed requests, a copy, and a wrong clock) did not hold: a copy of a request was accepted"
    case immortalKey = "14 (Sealed payments, whose key expires) did not hold: 0 payments were refused, not 10"
    case otherView = "18 (Product pictures) did not hold: a cell has shown another picture than its own"
    case forgetfulServer = "19 (A new process, still signed in) did not hold: the new process ended with status 1"
    case immortalSession = "21 (Sign out) did not hold: the old cookie still counts: HTTP 200"

    /// The routes of the faulty shop.
    func routes() throws -> RouteTable {
        let shop = try catalog().routes
        var table = RouteTable.standard
        table.add(shop)
        switch self {
        case .garbledName, .missingOrder: break
        case .wrongTotal: table.post("/cart/add") { _ in .enveloped(Self.cart) }
        case .missingLink: table.get("/orders/linked") { .json(bytes: shop.response(to: $0).bodyBytes) }
        case .soundPages: table.post("/debug/break-orders") { _ in .enveloped("null") }
        case .otherPicture: table.post("/account/avatar") { _ in .enveloped(Self.picture) }
        case .shortInvoice: table.get("/invoices/:id.pdf") { _ in .text("%PDF-1.4\n") }
        case .endlessSession: table.post("/debug/expire-session") { _ in .enveloped("null") }
        case .otherWords: table.get("/broken-business") { _ in .enveloped("null", code: 1) }
        case .acceptedCopy: table.get("/partner/stock") { _ in .enveloped(#"{"goodsID":1002,"stock":7}"#) }
        case .immortalKey: table.post("/debug/expire-key") { _ in .enveloped("null") }
        case .otherView:
            let bytes = ShopPicture(goods: 1001, view: 0).png
            table.get("/goods/:id/picture") { _ in .bytes(bytes, headers: ["Content-Type": "image/png"]) }
        case .forgetfulServer:
            table.get("/account/me") { $0.header("X-Token") == nil ? .refused : shop.response(to: $0) }
        case .immortalSession: table.post("/account/logout") { _ in .enveloped("null") }
        }
        return table
    }

    private static let cart =
        #"{"items":[{"goodsID":1002,"name":"壶","price":"399.00","count":2}],"count":2,"total":"797.99"}"#
    private static let picture = #"{"filename":"avatar.bmp","bytes":786486,"sha256":"00"}"#

    /// Returns the routes of a shop with faulty data.
    private func catalog() throws -> ShopAPI {
        let folder = try TemporaryFolder()
        let names = try FileManager.default.contentsOfDirectory(atPath: Fixtures.directory.path)
        for name in names where name.hasSuffix(".json") {
            let text = try String(contentsOf: Fixtures.directory.appending(path: name), encoding: .utf8)
            try Data(changed(text).utf8).write(to: folder.url.appending(path: name))
        }
        return try ShopAPI(fixtures: folder.url)
    }

    private func changed(_ text: String) -> String {
        switch self {
        case .garbledName: text.replacing("龙井茶叶", with: "é¾äº•èŒ¶å¶")
        case .missingOrder: text.replacing(/\{"id": 202600050,.*\n/, with: "")
        default: text
        }
    }
}

extension Response {
    fileprivate static let refused = enveloped("null", code: 11_010, status: 401)

    fileprivate static func enveloped(_ data: String, code: Int = 200, status: Int = 200) -> Response {
        .json(bytes: #"{"errcode":\#(code),"msg":"no","data":\#(data)}"#.utf8, status: status)
    }
}

extension Response {
    /// The body of a response that consists of a single write.
    fileprivate var bodyBytes: [UInt8] {
        steps.dropFirst().reduce(into: []) { bytes, step in
            if case .write(let piece) = step { bytes += piece }
        }
    }
}

@Suite("The walk through the shop", .startsPrograms, .limitedConcurrency, .timeLimit(.minutes(10)))
@MainActor struct WalkTests {
    @Test("succeeds, prints plain lines that align Chinese text, two columns for a character, and leaves no files")
    func holds() async throws {
        let shop = try ShopProcess([])
        let ending = try await shop.ending()
        #expect(ending.status == 0)
        #expect(ending.standardError == "")
        #expect(ending.output.split(separator: "\n").last?.starts(with: "All 21 steps held") == true)
        #expect(ending.output.allSatisfy { $0 == "\n" || $0.isPrintable })
        #expect(try shop.leftovers == [])
        let lines = ending.output.split(separator: "\n")
        let goods = lines.filter { $0.starts(with: #/\s+10\d\d\s/#) }.prefix(10)
        #expect(goods.count == 10)
        #expect(Set(goods.map(\.columns)).count == 1)
    }

    @Test("succeeds on another server, also repeatedly, and when its output is closed")
    func otherServer() async throws {
        let server = try FixtureServer.startShop()
        defer { server.stop() }
        let arguments = ["--base-url", server.baseURL.absoluteString, "--pictures", "50"]
        let first = try await ShopProcess.run(arguments)
        #expect(first.status == 0, "\(first.standardError)")
        let closed = Pipe()
        try closed.fileHandleForReading.close()
        #expect(try await ShopProcess(arguments, output: closed).ending().status == 0)
        #expect(server.requests.filter { $0.path == "/account/logout" }.count == 2)
    }

    @Test("reports the failed step and the reason when there is no server")
    func noServer() async throws {
        // The port of a server that has stopped may be given to another test.
        let ending = try await ShopProcess.run(["--base-url", "http://127.0.0.1:1"])
        #expect(ending.status == 1)
        #expect(ending.standardError.starts(with: "shop: step 1 (Sign in) did not hold: a request failed: transport"))
    }

    @Test("reports each fault of a shop", arguments: sampled(ShopFault.allCases))
    func fault(_ fault: ShopFault) async throws {
        let server = try FixtureServer.start(routes: fault.routes())
        defer { server.stop() }
        let shop = try ShopProcess(["--base-url", server.baseURL.absoluteString, "--pictures", "50"])
        let ending = try await shop.ending()
        #expect(ending.status == 1)
        #expect(ending.standardError.split(separator: "\n").last ?? "" == "shop: step \(fault.rawValue)")
        #expect(try shop.leftovers == [])
    }
}

extension Character {
    fileprivate var isPrintable: Bool {
        unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}

extension Substring {
    /// The width of this text in a terminal, for the characters of the shop's goods.
    fileprivate var columns: Int {
        unicodeScalars.reduce(0) { $0 + ((0x4E00...0x9FFF).contains($1.value) ? 2 : 1) }
    }
}
