/// What a descriptor is ready for, or is watched for.
struct Readiness: OptionSet {
    let rawValue: UInt8

    /// Bytes, a connection or the end can be read.
    static let readable = Readiness(rawValue: 1)
    /// Bytes can be written.
    static let writable = Readiness(rawValue: 2)
    /// The other side is gone; always watched for.
    static let hangUp = Readiness(rawValue: 4)
}
