#if os(Linux)
import Foundation

/// The file of trusted certificate authorities for libcurl: the system's, or an unlinked file with additional ones.
///
/// libcurl 7.87 and later reads one file without a directory once, and not for every connection.
final class CurlCABundle: Sendable {
    /// The path for libcurl; `nil` to use libcurl's default.
    let path: String?
    private let combined: UnlinkedFile?

    init() {
        path = Self.systemFile(in: Self.systemFiles)
        combined = nil
    }

    /// Finds the system's authorities and adds those of `configuration`.
    ///
    /// - Parameters:
    ///   - configuration: The configuration with the additional authorities.
    ///   - systemFiles: Where the authorities of the system may be stored. The file of the environment variable `SSL_CERT_FILE`
    ///     is used where none of these is.
    ///   - openFiles: The folder in which the system lists the open files of this process.
    /// - Throws: ``TransportError/Kind/invalidRequest`` when the additional authorities cannot be read or one is damaged, and
    ///   when those of the system are not found, which would not be trusted any more; ``TransportError/Kind/storage`` when the
    ///   combined file cannot be written.
    init(
        _ configuration: TLSConfiguration,
        systemFiles: [String] = CurlCABundle.systemFiles,
        openFiles: String = "/proc/self/fd"
    ) throws(TransportError) {
        let system = Self.systemFile(in: systemFiles)
        guard let additional = try configuration.additionalAuthorities?.decoded() else {
            path = system
            combined = nil
            return
        }
        guard let known = system.flatMap({ FileManager.default.contents(atPath: $0) }) else {
            let reason = "those of the system are not found; install ca-certificates, or set SSL_CERT_FILE to a file"
            throw .refusal(of: "tls.additionalAuthorities", reason)
        }
        let file = try Self.store(known + Data("\n".utf8) + Self.text(of: additional), openFiles: openFiles)
        path = file.path
        combined = consume file
    }

    /// Where distributions store the authorities of the system.
    static let systemFiles = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ]

    private static func systemFile(in systemFiles: [String]) -> String? {
        let files = systemFiles + [getenv("SSL_CERT_FILE").map { String(cString: $0) } ?? ""]
        return files.first { FileManager.default.isReadableFile(atPath: $0) }
    }

    /// Returns certificates in PEM form.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` when one is not a complete element of DER, for which libcurl would trust
    ///   no authority at all.
    private static func text(of certificates: [Data]) throws(TransportError) -> Data {
        var text = ""
        for (index, certificate) in certificates.enumerated() {
            guard certificate.isCompleteSequence else { throw .invalidAuthority(number: index + 1) }
            let lines = certificate.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
            text += "-----BEGIN CERTIFICATE-----\n\(lines)\n-----END CERTIFICATE-----\n"
        }
        return Data(text.utf8)
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

extension Data {
    /// Whether this is one sequence of DER (ITU-T X.690 section 8.1), as a certificate is, and all of it.
    fileprivate var isCompleteSequence: Bool {
        let bytes = [UInt8](self)
        guard bytes.count >= 2, bytes[0] == 0x30 else { return false }
        guard bytes[1] >= 0x80 else { return bytes.count == 2 + Int(bytes[1]) }
        let size = Int(bytes[1] & 0x7f)
        guard (1...4).contains(size), bytes.count >= 2 + size else { return false }
        return bytes.count - size - 2 == bytes[2..<2 + size].reduce(0) { $0 << 8 + Int($1) }
    }
}

/// A temporary file that is removed from its folder while it is open, so that no other process can replace it.
///
/// The file can be read at ``path`` until this value is destroyed.
struct UnlinkedFile: ~Copyable {
    /// Where this process can open the file.
    let path: String
    private let descriptor: FileDescriptor
    private let isLinked: Bool

    /// Creates and writes a file.
    ///
    /// - Parameters:
    ///   - bytes: The contents of the file.
    ///   - descriptorFolder: The folder in which the system lists the open files of this process, such as `/proc/self/fd`.
    ///     If the file cannot be read there, it stays in the temporary folder until this value is destroyed.
    /// - Throws: Why the file cannot be created or written.
    init(containing bytes: [UInt8], descriptorFolder: String) throws(SystemError) {
        let name = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)").path
        let file = try FileDescriptor(opening: name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        do throws(SystemError) {
            try file.writeAll(bytes)
        } catch {
            unlink(name)
            throw error
        }
        let descriptorPath = "\(descriptorFolder)/\(file.number)"
        isLinked = !FileManager.default.isReadableFile(atPath: descriptorPath)
        path = isLinked ? name : descriptorPath
        descriptor = file
        if !isLinked { unlink(name) }
    }

    deinit {
        if isLinked { unlink(path) }
    }
}
#endif
