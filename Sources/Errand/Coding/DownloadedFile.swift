public import Foundation

/// An answer that went to a file, as a request's ``APIManager/Response``.
public struct DownloadedFile: Sendable, Hashable {
    /// The complete file; the one that ``BaseAPIRequest/destination`` names once the load has ended, and until then a
    /// temporary one beside it, which a validator and ``APIManager/reformData(_:)`` can read.
    ///
    /// By default it is a new file in the temporary folder, which the app moves or removes.
    public let url: URL

    /// Creates an answer, for example in a test.
    public init(url: URL) {
        self.url = url
    }
}
