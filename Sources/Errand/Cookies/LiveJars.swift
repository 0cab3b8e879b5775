import Foundation
import Synchronization

/// The jars that have a file, none of them retained; they are flushed when the process exits.
enum LiveJars {
    private struct Reference {
        weak var jar: CookieJar?
    }

    private static let references = Mutex<[Reference]>([])
    private static let flushesAtExit: Bool = atexit { LiveJars.flush() } == 0

    static func add(_ jar: CookieJar) {
        _ = flushesAtExit
        // Looking for those that are gone retains the others, whose last release this may become.
        references.take { references in
            let jars = references.compactMap(\.jar)
            references = (jars + [jar]).map { Reference(jar: $0) }
            return jars
        }
    }

    /// The other jars that share the file of `jar`.
    static func others(than jar: CookieJar) -> [CookieJar] {
        guard let file = jar.file else { return [] }
        return all.filter { $0 !== jar && $0.file?.isSame(as: file) == true }
    }

    private static var all: [CookieJar] { references.take { $0.compactMap(\.jar) } }

    private static func flush() {
        for jar in all { try? jar.flush() }
    }
}
