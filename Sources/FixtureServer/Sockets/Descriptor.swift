import Foundation

/// A file descriptor that closes when its owner goes.
struct Descriptor: ~Copyable, Sendable {
    let number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }
}

/// A call of the operating system that failed.
package struct SystemError: Error, CustomStringConvertible {
    /// The call's name.
    package let call: String
    /// The value of `errno`.
    package let code: Int32

    init(_ call: String, code: Int32 = errno) {
        self.call = call
        self.code = code
    }

    /// The call and the system's words for the code.
    package var description: String {
        "\(call): \(String(cString: strerror(code)))"
    }
}
