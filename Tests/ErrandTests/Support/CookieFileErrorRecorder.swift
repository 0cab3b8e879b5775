import Synchronization

@testable import Errand

/// Records the errors of an error hook.
final class CookieFileErrorRecorder: Sendable {
    private let errors = Mutex<[CookieFileError]>([])
    var kinds: [CookieFileError.Kind] { errors.withLock { $0.map(\.kind) } }

    @Sendable func report(_ error: CookieFileError) { errors.withLock { $0.append(error) } }
}
