#if os(Linux)
import Foundation

/// The file of trusted certificate authorities for libcurl: the system's, or an unlinked file with additional ones.
///
/// libcurl 7.87 and later reads one file without a directory once, and not for every connection.
final class CurlCABundle: Sendable {
    /// `nil` to use libcurl's default.
    let path: String?
    private let combined: UnlinkedFile?

    init() {
        path = Self.systemFile(in: Self.systemFiles)
        combined = nil
    }

    /// Adds the authorities of `configuration` to those of the system.
    ///
    /// The file of the environment variable `SSL_CERT_FILE` is used where `systemFiles` has none.
    ///
    /// Throws when those of the system are not found, which would not be trusted any more.
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
        let text = try known + Data("\n".utf8) + Self.text(of: additional)
        do throws(SystemError) {
            let file = try UnlinkedFile(containing: Array(text), descriptorFolder: openFiles)
            path = file.path
            combined = consume file
        } catch {
            let reason = "the additional authorities cannot be stored (\(error.reason))"
            throw TransportError(.storage, reason, underlying: error)
        }
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

    /// Throws when one is not a complete element of DER, for which libcurl would trust no authority at all.
    private static func text(of certificates: [Data]) throws(TransportError) -> Data {
        var text = ""
        for (index, certificate) in certificates.enumerated() {
            guard certificate.isCompleteSequence else { throw .invalidAuthority(number: index + 1) }
            let lines = certificate.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
            text += "-----BEGIN CERTIFICATE-----\n\(lines)\n-----END CERTIFICATE-----\n"
        }
        return Data(text.utf8)
    }
}

extension Data {
    /// ITU-T X.690 section 8.1.
    fileprivate var isCompleteSequence: Bool {
        (2...6).contains { SubjectPublicKeyInfo.element(.sequence, dropFirst($0)) == self }
    }
}

/// A temporary file that is removed from its folder while it is open, so that no other process can replace it.
///
/// The file can be read at ``path`` until this value is destroyed.
struct UnlinkedFile: ~Copyable {
    let path: String
    private let descriptor: FileDescriptor
    private let isLinked: Bool

    /// A file that cannot be read in `descriptorFolder`, such as `/proc/self/fd`, stays in its folder as long as this value.
    init(containing bytes: [UInt8], descriptorFolder: String) throws(SystemError) {
        let name = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(String.uniqueName)").path
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
