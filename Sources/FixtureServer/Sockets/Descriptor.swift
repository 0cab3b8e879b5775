import Foundation

/// A file descriptor that is closed when its owner is destroyed.
struct Descriptor: ~Copyable, Sendable {
    let number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }
}

/// A failed system call.
package struct SystemError: Error, CustomStringConvertible {
    /// The call's name.
    package let call: String
    /// The value of `errno`.
    package let code: Int32

    init(_ call: String, code: Int32 = errno) {
        self.call = call
        self.code = code
    }

    /// The call and the system's message for the code.
    package var description: String {
        "\(call): \(String(cString: strerror(code)))"
    }
}
