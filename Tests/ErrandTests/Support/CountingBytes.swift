import Foundation

extension Data {
    /// Returns bytes that count from `first` on, modulo 256, as those of ``FixtureServer`` do.
    ///
    /// They are copied, because an unoptimized build makes one byte at a time slowly.
    static func counting(_ count: Int, from first: UInt8 = 0) -> Data {
        let period = Data((0...255).map { first &+ $0 })
        var bytes = Data(capacity: count)
        while bytes.count < count { bytes += period.prefix(count - bytes.count) }
        return bytes
    }
}
