public import Foundation

extension CookieJar {
    /// The cookie file of this application: ``defaultFile(named:)`` with the name of the process or, on Apple platforms,
    /// the bundle identifier.
    public static var defaultFile: URL {
        defaultFile(named: Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName)
    }

    /// The cookie file of an application or account by name, in which `/` is replaced by `-`.
    ///
    /// On Linux it is `$XDG_STATE_HOME/<name>/cookies.txt`, or `~/.local/state/<name>/cookies.txt` if that variable is not
    /// an absolute path (XDG Base Directory Specification 0.8); on Apple platforms
    /// `~/Library/Application Support/<name>/cookies.txt`, and on tvOS, where an app can write only caches,
    /// `~/Library/Caches/<name>/cookies.txt`, which the system may remove while the app does not run.
    public static func defaultFile(named name: String) -> URL {
        let folder = name.replacingScalar("/", with: "-")
        let isFolder = !folder.isEmpty && folder != "." && folder != ".."
        return stateFolder.appending(component: isFolder ? folder : "-").appending(component: "cookies.txt")
    }
}
