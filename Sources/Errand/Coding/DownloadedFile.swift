public import Foundation

/// An answer that went to a file, as a request's ``APIManager/Response``.
public struct DownloadedFile: Sendable, Hashable {
    /// The file, whole; it is the one that ``BaseAPIRequest/destination`` names.
    public let url: URL

    /// Creates an answer, for example in a test.
    public init(url: URL) {
        self.url = url
    }
}
