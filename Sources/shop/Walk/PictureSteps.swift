import Errand
import ErrandImages
import FixtureServer

extension Walk {
    /// Scrolls through the pictures, down and up twice; the session expires before the second time.
    ///
    /// No cell may show the picture of another one, and what is in memory must not be loaded again.
    func browsePictures() async throws {
        let (images, start) = (app.images, try await debugging.log())
        let goods = try await GoodsListRequest(proxy: app.proxy).value(params: ["category": 7])
        let (last, views) = (pictureCount - 10, 0..<pictureCount / goods.count)
        let screen = PicturesScreen(app, goods: goods, views: views)
        var table = Table(.left("Way"), .right("Cells"), .right("Hits"), .right("Fetches"), .right("Bytes in memory"))
        var (hits, fetches) = (0, 0)
        for (way, end, step, awaited) in [
            ("fast down", pictureCount * 2 / 5, 5, 1), ("slowly up", 0, -10, 10), ("slowly down", last, 10, 10),
            ("fast up", 0, -5, 0),
        ] {
            if end == last { try await debugging.expireSession(of: app.account, as: .http) }
            let before = (cells: screen.useCount, hits: images.hitCount, fetches: images.fetchCount)
            try await screen.scroll(to: end, by: step, awaiting: awaited)
            (hits, fetches) = (images.hitCount - before.hits, images.fetchCount - before.fetches)
            table.add(way, "\(screen.useCount - before.cells)", "\(hits)", "\(fetches)", "\(images.memoryCache.bytes)")
        }
        app.terminal.write(table)
        let shown = screen.cells.flatMap(\.shown)
        // No two of them have the same size.
        let pictures = views.flatMap { view in goods.map { ShopPicture(goods: $0.id, view: view) } }
        let sizes = Dictionary(zip(screen.requests, pictures.map { [$0.width, $0.height] })) { $1 }
        let areRight = shown.allSatisfy { sizes[$0.request] == [$0.image.header.width, $0.image.header.height] }
        try expect(areRight, "a cell has shown another picture than its own")
        try expect(screen.cells.allSatisfy { $0.image != nil }, "a visible cell shows nothing")
        try expect(fetches == 0 && hits == last, "on the way back, \(hits) of \(last) pictures were in memory")
        // Of cells that were reused before they showed one, and of prefetches before a turn.
        let givenUp = screen.useCount - shown.count + screen.unusedCount
        try expect(
            images.fetchCount <= pictureCount + givenUp,
            "\(images.fetchCount) loads began, \(givenUp) were given up"
        )
        await app.wire.settle()
        let log = try await debugging.log().since(start)
        let requests = log.hits.filter { $0.key.hasSuffix("/picture") }.values.reduce(0, +)
        show(["pictures sent": requests - log.refused, "refused": log.refused, "relogins": log.logins])
        try expect(log.logins == 1, "there were \(log.logins) relogins, not 1")
        try expect(log.refused > 0 && log.refused <= images.maxConcurrentLoads, "\(log.refused) requests were refused")
        try expect(requests - log.refused <= images.fetchCount, "a picture was sent twice for one load")
    }
}
