import Errand
import ErrandImages

/// A cell of a list: it shows one picture after the other, as a `UITableViewCell` that is reused.
@MainActor final class PictureCell {
    private(set) var image: ImageContent?
    /// What the cell has shown so far, and what it was to show then.
    private(set) var shown: [(request: ImageRequest, image: ImageContent)] = []
    private var request: ImageRequest?
    private var receipt: ImageReceipt?

    /// Shows a picture: at once if it is in memory, otherwise when it has been loaded, unless the cell has been reused.
    func show(_ request: ImageRequest, from images: ImageLoader<ImageContent>) {
        receipt?.cancel()
        (self.request, image) = (request, nil)
        if let image = images.cachedImage(for: request) { return display(image) }
        receipt = images.load(request) { [weak self] result in
            if case .success(let image) = result { self?.display(image) }
        }
    }

    private func display(_ image: ImageContent) {
        self.image = image
        if let request { shown.append((request, image)) }
    }
}

/// A long list of pictures, of which ten are visible.
final class PicturesScreen: Screen {
    let requests: [ImageRequest]
    let cells = (0..<10).map { _ in PictureCell() }
    private(set) var useCount = 0
    /// How many pictures were prefetched without becoming visible.
    private(set) var unusedCount = 0
    private var visible = 0..<0
    private var next = 0..<0
    private var prefetch: ImageReceipt?

    init(_ app: App, goods: [Goods], views: Range<Int>) {
        requests = views.flatMap { view in goods.map { ImageRequest($0.picture(view, at: app.baseURL)) } }
        super.init(app)
    }

    /// Scrolls until this row is at the top; before each move, waits for some of the visible pictures.
    func scroll(to end: Int, by step: Int, awaiting count: Int) async throws {
        for top in stride(from: visible.lowerBound, through: end, by: step) {
            show(top..<top + cells.count, isMovingUp: step < 0)
            try await showVisible(count)
        }
        try await showVisible(cells.count)
    }

    private func show(_ rows: Range<Int>, isMovingUp: Bool) {
        for row in rows where !visible.contains(row) {
            useCount += 1
            cells[row % cells.count].show(requests[row], from: app.images)
        }
        let start = isMovingUp ? rows.lowerBound - rows.count : rows.upperBound
        let next = (start..<start + rows.count).clamped(to: requests.indices)
        unusedCount += self.next.filter { !rows.contains($0) && !next.contains($0) }.count
        (visible, self.next) = (rows, next)
        // Cancelled last: what is still wanted goes on.
        let former = exchange(&prefetch, with: app.images.prefetch(Array(requests[next])))
        former?.cancel()
    }

    /// Joins the loads of the visible cells.
    private func showVisible(_ count: Int) async throws {
        for row in visible.prefix(count) where cells[row % cells.count].image == nil {
            _ = try await app.images.image(for: requests[row])
        }
    }
}
