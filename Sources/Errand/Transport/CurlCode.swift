#if os(Linux)
/// How a transfer ended according to libcurl (`CURLcode`).
struct CurlCode: RawRepresentable, Equatable {
    let rawValue: Int32

    static let success = CurlCode(rawValue: 0)

    /// The kind of failure that the layers above tell apart; `systemError` is the `errno` of the last failed connect.
    func kind(systemError: Int) -> TransportError.Kind {
        switch rawValue {
        case 3, 43: .invalidRequest
        case 5, 6: .noNetwork
        case 7: Self.isUnreachable(systemError) ? .noNetwork : .cannotConnect
        case 1, 8, 16, 23, 61, 92: .badResponse
        case 26: .file
        case 27, 63, 100: .responseTooLarge
        case 28: .timeout
        case 53, 54, 58, 59, 60, 64, 66, 77, 82, 83, 90, 91, 98: .security
        case 2, 4, 35, 41, 45, 89, 97: .cannotConnect
        default: .connectionLost
        }
    }

    /// ENETDOWN, ENETUNREACH and EHOSTUNREACH: there is no way to the host.
    private static func isUnreachable(_ systemError: Int) -> Bool {
        [100, 101, 113].contains(systemError)
    }
}
#endif
