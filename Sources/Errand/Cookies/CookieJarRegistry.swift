import Foundation

/// The savers of all jars with a file, not retained; their changes are saved when the process exits.
enum CookieJarRegistry {
    private struct Reference {
        weak var saver: CookieSaver?
    }

    private static let references = Lock<[Reference]>([])
    private static let savesAtExit: Bool = atexit { CookieJarRegistry.saveAll() } == 0

    static func register(_ saver: CookieSaver) {
        _ = savesAtExit
        // Reading a weak reference retains the saver, whose last release must not happen under the lock.
        references.withLock { references in
            let savers = references.compactMap(\.saver)
            references = (savers + [saver]).map { Reference(saver: $0) }
            return savers
        }
    }

    static func savers(sharingFileOf saver: CookieSaver) -> [CookieSaver] {
        savers.filter { $0 !== saver && $0.file.isSame(as: saver.file) }
    }

    private static var savers: [CookieSaver] { references.withLock { $0.compactMap(\.saver) } }

    private static func saveAll() {
        for saver in savers { try? saver.flush() }
    }
}
