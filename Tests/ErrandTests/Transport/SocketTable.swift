import Foundation

@testable import ErrandTestSupport

#if os(Linux)
/// The sockets and files of this process, as the kernel reports them.
enum SocketTable {
    /// The states of a client's socket that tests check; the numbers are the kernel's.
    enum State: String {
        case connected = "01"
        case connecting = "02"
    }

    /// The states of the sockets that are connected to `port` on loopback.
    static func states(ofClientsOf port: UInt16) throws -> Set<State> {
        let suffix = ":" + String(format: "%04X", Int(port))
        let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/net/tcp"))
        let table = try String(decoding: handle.readToEnd() ?? Data(), as: UTF8.self)
        return Set(
            table.split(separator: "\n").dropFirst().compactMap { line in
                let columns = line.split(separator: " ")
                guard columns.count > 3, columns[2].hasSuffix(suffix) else { return nil }
                return State(rawValue: String(columns[3]))
            }
        )
    }

    /// How many descriptors this process has open.
    static func totalDescriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    /// The paths of the files that this process has open.
    static func openFiles() throws -> Set<String> {
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return Set(
            descriptors.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
        )
    }
}
#endif
