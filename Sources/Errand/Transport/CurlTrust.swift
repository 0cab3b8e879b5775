#if os(Linux)
import Foundation

/// The file of the authorities that libcurl trusts; a combined one goes when this object goes.
///
/// One file, without a directory beside it, is what libcurl 7.87 and later read once and not for every connection.
final class CurlTrust: Sendable {
    /// The path for libcurl, `nil` when libcurl's own default is all there is.
    let path: String?
    private let isOwn: Bool

    /// Finds the system's authorities and adds those of `configuration`.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` when the additional ones cannot be read or are none.
    init(_ configuration: TLSConfiguration) throws(TransportError) {
        let system = Self.systemFiles.first { FileManager.default.isReadableFile(atPath: $0) }
        guard let additional = try Self.read(configuration.additionalAuthorities) else {
            path = system
            isOwn = false
            return
        }
        let known = system.flatMap { FileManager.default.contents(atPath: $0) } ?? Data()
        path = try Self.store(known + Data("\n".utf8) + additional)
        isOwn = true
    }

    deinit {
        guard isOwn, let path else { return }
        unlink(path)
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

    private static func store(_ data: Data) throws(TransportError) -> String {
        var template = Array(
            FileManager.default.temporaryDirectory.appendingPathComponent("errand-ca-XXXXXX").path.utf8CString
        )
        let descriptor = mkstemp(&template)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
            try file.write(contentsOf: data)
            return path
        } catch {
            unlink(path)
            throw TransportError(.file, "the additional authorities cannot be kept in \(path)", underlying: error)
        }
    }
}
#endif
