#if os(Linux)
import Foundation

/// The file of trusted certificate authorities for libcurl: the system's, or an unlinked file with additional ones.
///
/// libcurl 7.87 and later reads one file without a directory once, and not for every connection.
final class CurlCABundle: Sendable {
    /// The path for libcurl; `nil` to use libcurl's default.
    let path: String?
    private let combined: UnlinkedFile?

    /// Finds the system's authorities and adds those of `configuration`.
    ///
    /// - Parameters:
    ///   - configuration: The configuration with the additional authorities.
    ///   - openFiles: The folder in which the system lists the open files of this process.
    /// - Throws: ``TransportError/Kind/invalidRequest`` when the additional authorities cannot be read or contain no
    ///   certificate; ``TransportError/Kind/storage`` when the combined file cannot be written.
    init(_ configuration: TLSConfiguration, openFiles: String = "/proc/self/fd") throws(TransportError) {
        let system = Self.systemFiles.first { FileManager.default.isReadableFile(atPath: $0) }
        guard let additional = try Self.read(configuration.additionalAuthorities) else {
            path = system
            combined = nil
            return
        }
        let known = system.flatMap { FileManager.default.contents(atPath: $0) } ?? Data()
        let file = try Self.store(known + Data("\n".utf8) + additional, openFiles: openFiles)
        path = file.path
        combined = consume file
    }

    /// Where distributions store the authorities of the system.
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
            let reason = "it cannot be read, or contains no certificate in PEM form"
            throw .refusal(of: "tls.additionalAuthorities", reason)
        }
        return data
    }

    private static func store(_ data: Data, openFiles: String) throws(TransportError) -> UnlinkedFile {
        do throws(SystemError) {
            return try UnlinkedFile(containing: Array(data), descriptorFolder: openFiles)
        } catch {
            let reason = "the additional authorities cannot be stored (\(error.reason))"
            throw TransportError(.storage, reason, underlying: error)
        }
    }
}
#endif
