/// The operations that a descriptor is ready for, or is watched for.
struct Readiness: OptionSet {
    let rawValue: UInt8

    /// Bytes or the end of the stream can be read, or a connection accepted.
    static let readable = Readiness(rawValue: 1)
    /// Bytes can be written.
    static let writable = Readiness(rawValue: 2)
    /// The peer has closed the connection; watched for on every connection.
    static let hangUp = Readiness(rawValue: 4)
}
