public import Foundation

/// A file as a request's ``APIManager/Response``.
public struct DownloadedFile: Sendable {
    private let location: FileLocation

    /// The complete file that ``BaseAPIRequest/destination`` names; by default a new file in the temporary folder, which the
    /// app moves or removes.
    ///
    /// Until the load has ended it is a temporary file in the same folder, which a validator and
    /// ``APIManager/reformData(_:)`` can read. A success moves the file, and this names it where it is then, also in a value that
    /// ``ResponseSerializer/map(_:)`` has made of it.
    public var url: URL { location.url }

    /// Creates a response, for example in a test.
    public init(url: URL) {
        self.init(FileLocation(url))
    }

    init(_ location: FileLocation) {
        self.location = location
    }
}

extension DownloadedFile: Hashable {
    /// Whether both name the same file, where it is when the load has succeeded.
    public static func == (lhs: DownloadedFile, rhs: DownloadedFile) -> Bool {
        lhs.location.target == rhs.location.target
    }

    /// Hashes where the file is when the load has succeeded.
    public func hash(into hasher: inout Hasher) { hasher.combine(location.target) }
}

extension DownloadedFile: RedactedDescription {
    /// The type and the path of the file.
    public var description: String { "DownloadedFile(\(url.path(percentEncoded: false)))" }
}

extension ResponseSerializer<DownloadedFile> {
    /// The file that ``BaseAPIRequest/destination`` names, or else a new one in the temporary folder.
    ///
    /// A 204, a 205 and a response to `HEAD` have no content for a file: the load fails with `decoding`, and an existing file
    /// does not change.
    ///
    /// With ``APIRequestOptions/acceptedStatuses`` the body of such a response is stored in the file as well. An accepted 304 does
    /// not change the file that ``BaseAPIRequest/destination`` names, which is the value; without that file the load fails with
    /// `decoding`. Returned by the closure of ``choosing(_:)``, this reads a 2xx response only, and fails with `decoding` for
    /// another.
    public static var file: Self {
        Self(from: .file, decoding: .none) { response, reader in
            try reader.checkEnvelope(of: &response)
            guard let location = response.fileLocation else {
                let reason = "the response with status \(response.status) is not in a file"
                throw APIError(.decoding, reason: reason)
            }
            return DownloadedFile(location)
        }
    }
}
