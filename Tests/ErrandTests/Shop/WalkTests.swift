import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite("The walk through the shop", .startsPrograms, .limitedConcurrency, .serialized, .timeLimit(.minutes(10)))
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

    @Test("succeeds on another server, also repeatedly")
    func otherServer() async throws {
        let server = try FixtureServer.startShop()
        defer { server.stop() }
        for _ in 1...2 {
            let ending = try await ShopProcess.run(["--base-url", server.baseURL.absoluteString])
            #expect(ending.status == 0, "\(ending.standardError)")
        }
        #expect(server.requests.filter { $0.path == "/account/logout" }.count == 2)
    }

    @Test("succeeds when its output is closed")
    func closedOutput() async throws {
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        #expect(try await ShopProcess([], output: pipe).ending().status == 0)
    }

    @Test("reports the failed step and the reason when there is no server")
    func noServer() async throws {
        // The port of a server that has stopped may be given to another test.
        let ending = try await ShopProcess.run(["--base-url", "http://127.0.0.1:1"])
        #expect(ending.status == 1)
        #expect(ending.standardError.starts(with: "shop: step 1 (Sign in) did not hold: a request failed: transport"))
    }

    @Test("reports each fault of a shop", arguments: ShopFault.allCases)
    func fault(_ fault: ShopFault) async throws {
        let server = try FixtureServer.start(routes: fault.routes())
        defer { server.stop() }
        let shop = try ShopProcess(["--base-url", server.baseURL.absoluteString])
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
