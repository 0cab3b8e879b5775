#if canImport(Darwin)
import Foundation

// Untested.
extension CookieJar {
    /// The folder of the application's files, which the system does not remove; on tvOS, where an app can write only caches, the
    /// folder of these, which the system may empty while the app does not run.
    static var stateFolder: URL {
        #if os(tvOS)
        .cachesDirectory
        #else
        .applicationSupportDirectory
        #endif
    }
}
#endif
