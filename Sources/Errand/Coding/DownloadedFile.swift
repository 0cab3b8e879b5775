public import Foundation

/// An answer that went to a file, as a request's ``APIManager/Response``.
public struct DownloadedFile: Sendable, Hashable {
    /// The file that ``BaseAPIRequest/destination`` names.
    ///
    /// By default it is a new file in the temporary folder, which the app moves or removes.
    public let url: URL

    /// Creates an answer, for example in a test.
    public init(url: URL) {
        self.url = url
    }
}
