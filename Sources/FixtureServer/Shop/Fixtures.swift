import Foundation

/// The location of this package's data files.
package enum Fixtures {
    /// The folder `Fixtures` at the root of the package that these sources were compiled from.
    package static let directory = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent()
        .appendingPathComponent("Fixtures", isDirectory: true)
}
