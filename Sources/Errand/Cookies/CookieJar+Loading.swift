import Foundation
import Synchronization

extension CookieJar {
    /// Reads the file, once; a logout through another jar of the file reaches this one from the beginning.
    func load() {
        guard let file else { return }
        let generation = generation
        LiveJars.add(self)
        // Whoever logged out before that could not tell this jar, and may not have written it yet.
        guard !isFileOver else { return }
        let found = find(in: file)
        state.withLock { $0.note(found.problems, ended: []) }
        tell()
        change { $0.load(found.cookies.compactMap(admitted), from: found, readIn: generation, at: opened) }
    }

    /// Whether another jar of the file has a logout to write, so that what the file holds counts no more.
    var isFileOver: Bool { LiveJars.others(than: self).contains { $0.state.withLock(\.hasUnwrittenLogout) } }

    /// A cookie of the file as the jar takes it; what no `Set-Cookie` could have brought is not taken.
    ///
    /// A domain may have become a public suffix since; then the cookie goes to that host alone.
    func admitted(_ cookie: Cookie) -> Cookie? {
        guard sessionCookies == .keep || cookie.expires != nil, SetCookie.canBring(cookie) else { return nil }
        var cookie = cookie
        cookie.isHostOnly = cookie.isHostOnly || suffixes.isPublicSuffix(cookie.domain)
        return cookie
    }

    private func find(in file: CookieFile) -> CookieFile.Found {
        do throws(CookieFileError) {
            let found = try file.find(at: opened)
            return found.damage != nil || file.hasTemporary ? tidied(found, in: file) : found
        } catch {
            return CookieFile.Found(problems: [error])
        }
    }

    /// What is found once nobody else is at it; without the lock, what was found before has to do.
    private func tidied(_ found: CookieFile.Found, in file: CookieFile) -> CookieFile.Found {
        do {
            return try file.locked { () throws(CookieFileError) in try file.findTidily(at: opened) }
        } catch {
            var found = found
            found.problems = [error]
            return found
        }
    }
}
