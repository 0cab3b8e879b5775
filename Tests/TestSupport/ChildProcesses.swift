package import Foundation
package import Testing

/// Child processes, which only macOS and Linux allow.
package enum ChildProcesses {
    /// Whether this platform allows them.
    package static let areAllowed: Bool = {
        #if os(macOS) || os(Linux)
        true
        #else
        false
        #endif
    }()
}

extension Trait where Self == ConditionTrait {
    /// Runs tests that start programs, only where the platform allows it.
    package static var startsPrograms: Self {
        .enabled(if: ChildProcesses.areAllowed, "this platform allows no child processes")
    }
}

#if !os(macOS) && !os(Linux)
/// A replacement of Foundation's class, which cannot be started.
package final class Process: Sendable {
    /// The error of ``run()``.
    package struct Unavailable: Error {}

    package init() {}

    package func run() throws { throw Unavailable() }
    package func terminate() {}
    package func waitUntilExit() {}

    package var isRunning: Bool { false }
    package var processIdentifier: Int32 { 0 }
    package var terminationStatus: Int32 { 0 }
    package var executableURL: URL? {
        get { nil }
        set {}
    }
    package var arguments: [String]? {
        get { nil }
        set {}
    }
    package var currentDirectoryURL: URL? {
        get { nil }
        set {}
    }
    package var environment: [String: String]? {
        get { nil }
        set {}
    }
    package var standardInput: Any? {
        get { nil }
        set {}
    }
    package var standardOutput: Any? {
        get { nil }
        set {}
    }
    package var standardError: Any? {
        get { nil }
        set {}
    }
    package var terminationHandler: (@Sendable (Process) -> Void)? {
        get { nil }
        set {}
    }
}
#endif

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
