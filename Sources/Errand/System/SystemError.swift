import Foundation

/// A failed system call.
struct SystemError: Error {
    let call: String
    let number: CInt

    /// The failure that `errno` tells of.
    static func last(_ call: String) -> SystemError { SystemError(call: call, number: errno) }

    var reason: String { "\(call): \(String(cString: strerror(number)))" }
}
