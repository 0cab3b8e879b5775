import Foundation
import Testing

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
