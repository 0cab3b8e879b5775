@testable import Errand

/// Returns after the work that is already enqueued on the main actor.
@MainActor func sentinel(_ proxy: APIProxy) async {
    for _ in 0..<3 {
        await withCheckedContinuation { continuation in proxy.deliver { continuation.resume() } }
    }
}
