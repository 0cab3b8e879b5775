import Foundation
import Synchronization

/// The jars of the environments of a service, beside a jar that they have their settings from.
final class EnvironmentJars: Sendable {
    private let make: @Sendable (String) -> CookieJar
    private let jars = Mutex<[String: CookieJar]>([:])

    init(_ make: @escaping @Sendable (String) -> CookieJar) {
        self.make = make
    }

    /// Returns the jar of an environment, the same one each time; makes it, and reads its file, at the first time.
    func jar(named name: String) -> CookieJar {
        if let jar = jars.withLock({ $0[name] }) { return jar }
        // Not under the lock, because it reads a file. Of two that are made at the same time, one is released.
        let new = make(name)
        return jars.withLock { jars in
            let jar = jars[name] ?? new
            jars[name] = jar
            return jar
        }
    }

    /// All jars that have been made.
    var all: [CookieJar] { jars.withLock { Array($0.values) } }
}

extension CookieJar {
    /// Returns the jar of an environment (``APIEnvironment/name``), the same one each time; this jar for the empty name.
    ///
    /// It has the settings of this one, and where this one has a file, a file beside that: `cookies-staging.txt` beside
    /// `cookies.txt`.
    public func jar(of environment: String) -> CookieJar {
        environment.isEmpty ? self : environments.jar(named: environment)
    }

    /// Saves the changes of this jar and of its environments' jars.
    func flushAll() {
        for jar in [self] + environments.all { try? jar.flush() }
    }
}

extension URL {
    /// The URL of a file in the same folder, with `name` added before the extension; `/` in it is replaced by `-`.
    func beside(_ name: String) -> URL {
        let base = deletingPathExtension().lastPathComponent + "-" + name.replacingScalar("/", with: "-")
        let file = deletingLastPathComponent().appending(component: base)
        return pathExtension.isEmpty ? file : file.appendingPathExtension(pathExtension)
    }
}
