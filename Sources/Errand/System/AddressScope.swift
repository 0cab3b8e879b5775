#if os(Linux)
/// How far an address reaches.
enum AddressScope {
    /// Nowhere: no address, `0.0.0.0/8`, loopback, or IPv6 link-local, which every connected interface gives itself.
    case nowhere
    /// `169.254.0.0/16`: what a host takes that got no address (RFC 3927), and the only one that some hosted machines have.
    case selfAssigned
    /// Beyond the link, as far as can be told.
    case network

    init(_ address: [UInt8]) {
        switch address.count {
        case 4: self = Self.ofIPv4(address[0], address[1])
        case 16: self = Self.ofIPv6(address)
        default: self = .nowhere
        }
    }

    private static func ofIPv4(_ first: UInt8, _ second: UInt8) -> AddressScope {
        switch (first, second) {
        case (0, _), (127, _): .nowhere
        case (169, 254): .selfAssigned
        default: .network
        }
    }

    private static func ofIPv6(_ address: [UInt8]) -> AddressScope {
        let isLinkLocal = address[0] == 0xFE && address[1] & 0xC0 == 0x80
        let isUnspecifiedOrLoopback = address.dropLast().allSatisfy { $0 == 0 } && address[15] <= 1
        return isLinkLocal || isUnspecifiedOrLoopback ? .nowhere : .network
    }
}
#endif
