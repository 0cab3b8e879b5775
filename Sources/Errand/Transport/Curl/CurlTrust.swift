#if os(Linux)
import Foundation

/// The file of the authorities that libcurl trusts; a combined one has no name, so that nobody can take it away.
///
/// One file, without a directory beside it, is what libcurl 7.87 and later read once and not for every connection.
final class CurlTrust: Sendable {
    /// The path for libcurl, `nil` when libcurl's own default is all there is.
    let path: String?
    private let combined: UnlinkedFile?

    /// Finds the system's authorities and adds those of `configuration`.
    ///
    /// - Parameters:
    ///   - configuration: What names the additional ones.
    ///   - openFiles: The folder in which the system shows the open files of this process.
    /// - Throws: ``TransportError/Kind/invalidRequest`` when the additional ones cannot be read or are none;
    ///   ``TransportError/Kind/storage`` when there is no place for a file of both.
    init(_ configuration: TLSConfiguration, openFiles: String = "/proc/self/fd") throws(TransportError) {
        let system = Self.systemFiles.first { FileManager.default.isReadableFile(atPath: $0) }
        guard let additional = try Self.read(configuration.additionalAuthorities) else {
            path = system
            combined = nil
            return
        }
        let known = system.flatMap { FileManager.default.contents(atPath: $0) } ?? Data()
        let file = try Self.store(known + Data("\n".utf8) + additional, openFiles)
        path = file.path
        combined = consume file
    }

    /// Where distributions keep the authorities of the system.
    private static let systemFiles = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ]

    private static func read(_ certificates: TLSConfiguration.Certificates?) throws(TransportError) -> Data? {
        let data: Data?
        switch certificates {
        case nil: return nil
        case .data(let text): data = text
        case .file(let url): data = FileManager.default.contents(atPath: url.path)
        }
        guard let data, data.range(of: Data("-----BEGIN CERTIFICATE-----".utf8)) != nil else {
            throw TransportError(.invalidRequest, "the additional authorities are not certificates in PEM form")
        }
        return data
    }

    private static func store(_ data: Data, _ openFiles: String) throws(TransportError) -> UnlinkedFile {
        do throws(SystemError) {
            return try UnlinkedFile(containing: Array(data), descriptorFolder: openFiles)
        } catch {
            let reason = "the additional authorities cannot be kept (\(error.reason))"
            throw TransportError(.storage, reason, underlying: error)
        }
    }
}
#endif
