import Foundation
import Synchronization

/// Where the file of an answer is, the same for all values that name it, also inside values of the app.
///
/// It is beside its target until the load succeeds, which moves it.
final class FileLocation: Sendable {
    /// The URL of the file when its load has succeeded.
    let target: URL
    private let current: Mutex<URL>

    init(_ url: URL, target: URL? = nil) {
        self.target = target ?? url
        current = Mutex(url)
    }

    /// The URL of the file now.
    var url: URL { current.withLock(\.self) }

    /// Records that the file has been moved to its target.
    func didMove() {
        current.withLock { $0 = target }
    }
}
