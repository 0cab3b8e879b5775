import Foundation

/// The cores of the machine, divided so that server and client do not share one.
enum Core {
    /// The role of a process.
    enum Role {
        case server
        case client
    }

    /// Binds the process to the client's or the server's core; does nothing with a single core or without permission.
    static func pin(to role: Role) {
        #if os(Linux)
        let cores = allowed
        guard cores.count > 1, let core = role == .client ? cores.first : cores.last else { return }
        var bits = [UInt8](repeating: 0, count: setBytes)
        bits[core / 8] |= 1 << (core % 8)
        _ = call("sched_setaffinity", &bits)
        #endif
    }

    #if os(Linux)
    /// `pid_t`, the bytes of the set, the set (`sched_setaffinity(2)`).
    private typealias Function = @convention(c) (Int32, Int, UnsafeMutableRawPointer) -> Int32

    private static let setBytes = 128

    private static var allowed: [Int] {
        var bits = [UInt8](repeating: 0, count: setBytes)
        guard call("sched_getaffinity", &bits) else { return [] }
        return (0..<setBytes * 8).filter { bits[$0 / 8] & 1 << ($0 % 8) != 0 }
    }

    /// The C library declares the functions only with `_GNU_SOURCE`, but always contains them.
    private static func call(_ name: String, _ bits: inout [UInt8]) -> Bool {
        guard let symbol = dlsym(nil, name) else { return false }
        return unsafeBitCast(symbol, to: Function.self)(0, setBytes, &bits) == 0
    }
    #endif
}
