import Foundation
import TestSupport
import Testing

/// A certificate authority for tests and the certificates that it has signed, in files that are removed with it or at the end of
/// the process.
final class TestAuthority: Sendable {
    /// Whether there is OpenSSL; the server of LibreSSL, which macOS has under that name, does not print its port.
    static let isAvailable = TestProgram.output(of: ["openssl", "version"]).hasPrefix("OpenSSL ")

    /// A key of RSA takes a hundred times longer.
    private static let newKey = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"

    /// For tests that leave no files in its directory whose names others may use.
    static let shared = Result { try TestAuthority() }

    private let folder: TemporaryFolder
    var directory: URL { folder.url }
    var certificate: URL { directory.appendingPathComponent("ca.pem") }

    init() throws {
        folder = try TemporaryFolder()
        try openssl("req -x509 \(Self.newKey) -keyout ca.key -out ca.pem -days 2 -subj /CN=Errand-Test-CA")
        try sign("server", names: "DNS:localhost,IP:127.0.0.1")
        try sign("other", names: "DNS:other.example")
        try sign("client", names: "DNS:client", usage: "clientAuth")
        try sign("expired", names: "DNS:localhost,IP:127.0.0.1", days: -1)
    }

    /// A file with the certificate called `name` and its key.
    func identity(_ name: String) -> URL { directory.appendingPathComponent("\(name).pem") }

    /// The pin of the certificate called `name`.
    func pin(_ name: String) throws -> String {
        // Tests run at the same time.
        let file = UUID().uuidString
        try openssl("pkey -in \(name).pem -pubout -outform DER -out \(file).spki")
        try openssl("dgst -sha256 -binary -out \(file).digest \(file).spki")
        let digest = try Data(contentsOf: directory.appendingPathComponent("\(file).digest"))
        return "sha256//\(digest.base64EncodedString())"
    }

    /// A PKCS#12 file with the certificate called `name` and its key.
    func archive(_ name: String, _ password: String) throws -> URL {
        let file = "\(UUID().uuidString).p12"
        // Not every version of Apple's systems reads the algorithms that OpenSSL 3 selects.
        let algorithms = "-certpbe PBE-SHA1-3DES -keypbe PBE-SHA1-3DES -macalg sha1"
        try openssl("pkcs12 -export \(algorithms) -in \(name).pem -out \(file) -passout pass:\(password)")
        return directory.appendingPathComponent(file)
    }

    /// Makes a certificate called `name`; one of less than no days has expired.
    ///
    /// Apple's systems require the usage, and at most 825 days of a private authority.
    func sign(_ name: String, names: String, usage: String = "serverAuth", days: Int = 2) throws {
        try "subjectAltName=\(names)\nextendedKeyUsage=\(usage)\n".write(
            to: directory.appendingPathComponent("\(name).ext"),
            atomically: true,
            encoding: .utf8
        )
        try openssl("req \(Self.newKey) -keyout \(name).key -out \(name).csr -subj /CN=\(name)")
        try openssl(
            "x509 -req -in \(name).csr -CA ca.pem -CAkey ca.key -CAcreateserial -days \(days) -out \(name).crt -extfile \(name).ext"
        )
        let certificate = try Data(contentsOf: directory.appendingPathComponent("\(name).crt"))
        let key = try Data(contentsOf: directory.appendingPathComponent("\(name).key"))
        try (certificate + key).write(to: identity(name))
    }

    /// The key of the certificate called `name`, encrypted.
    func encryptedKey(_ name: String, _ password: String) throws -> URL {
        let file = "\(UUID().uuidString).key"
        try openssl("pkey -in \(name).pem -aes256 -passout pass:\(password) -out \(file)")
        return directory.appending(path: file)
    }

    private func openssl(_ arguments: String) throws {
        let command = ["openssl"] + arguments.split(separator: " ").map(String.init)
        let ending = try TestProgram(command, in: directory).waitForEnding()
        try #require(ending.status == 0, "\(command): \(ending.standardError)")
    }
}

extension TestAuthority {
    /// Starts `openssl s_server` with the certificate called `name` on a free port.
    ///
    /// Of its options `-www` responds with a page about the connection, `-HTTP` with files.
    func serve(_ name: String = "server", _ options: [String] = ["-www"]) throws -> (TestProgram, URL) {
        let (program, address) = try accept(["-accept", "0", "-cert", "\(name).pem"] + options)
        let port = try #require(address.split(separator: ":").last)
        return (program, try #require(URL(string: "https://127.0.0.1:\(port)/")))
    }

    /// Starts `openssl s_server` on a Unix socket in ``directory``, whose path is returned.
    func serve(
        _ identity: String = "server",
        onSocket name: String,
        _ options: [String]
    ) throws -> (TestProgram, String) {
        // It cannot print a path of more than 31 characters, so it gets one that begins in its directory.
        let (program, _) = try accept(["-unix", name, "-cert", "\(identity).pem"] + options)
        return (program, directory.appendingPathComponent(name).path)
    }

    private func accept(_ options: [String]) throws -> (TestProgram, address: String) {
        let output = Pipe()
        let program = try TestProgram(["openssl", "s_server"] + options, in: directory, output: output)
        return (program, try output.line(behind: "ACCEPT "))
    }
}

#if os(Linux)
extension TestAuthority {
    /// Starts nginx on a free port, with its files in `folder` and the certificate called `server`.
    ///
    /// `options` are those of the directive `listen`; `settings` is what the block `server` contains besides.
    func serveWithNginx(
        in folder: URL,
        listen options: String,
        _ settings: String
    ) async throws -> (TestProgram, port: UInt16) {
        let (listener, port) = try Loopback.listen()
        let identity = identity("server").path
        // One process alone crashes with a socket that it has not opened. As root, its worker would be another user.
        let configuration = """
            \(geteuid() == 0 ? "user root;" : "") daemon off; worker_processes 1; pid nginx.pid; error_log stderr;
            events { worker_connections 1024; }
            http {
                access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
                uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                server {
                    listen 127.0.0.1:\(port) \(options); ssl_certificate \(identity); ssl_certificate_key \(identity);
                    \(settings)
                }
            }
            """
        let file = folder.appending(path: "nginx.conf")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        // A free port that nginx opened itself could be another program's by then, so it inherits the socket.
        let program = try TestProgram(
            ["nginx", "-p", folder.path, "-c", file.path, "-e", "stderr"],
            in: folder,
            environment: ["NGINX": "0;"],
            input: FileHandle(fileDescriptor: listener, closeOnDealloc: true)
        )
        let pid = folder.appending(path: "nginx.pid").path
        await suspend(while: program.isRunning && !FileManager.default.fileExists(atPath: pid))
        guard program.isRunning else { throw NginxHasEnded(output: try program.waitForEnding().standardError) }
        return (program, port)
    }
}

/// The error of nginx that does not start.
struct NginxHasEnded: Error {
    let output: String
}
#endif
