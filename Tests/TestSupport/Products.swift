package import Foundation

/// The folder of the programs and modules that are built with the tests.
package enum Products {
    /// The folder.
    package static let folder: URL = {
        #if canImport(Darwin)
        // The tests are a bundle, with its binary in Contents/MacOS, that a program of Xcode loads.
        var image = Dl_info()
        dladdr(#dsohandle, &image)
        return (0..<4).reduce(URL(filePath: String(cString: image.dli_fname))) { url, _ in
            url.deletingLastPathComponent()
        }
        #else
        // Without links: the compiler refuses modules that it finds under two names.
        URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
        #endif
    }()
}
