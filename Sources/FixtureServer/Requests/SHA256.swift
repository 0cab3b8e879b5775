/// SHA-256 (FIPS 180-4), for bodies that are too large to keep and for signatures.
package struct SHA256 {
    private static let blockSize = 64
    private var state: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    private var schedule = [UInt32](repeating: 0, count: 64)
    private var pending: [UInt8] = []
    private var count: UInt64 = 0

    /// Creates the hash of no bytes.
    package init() {}

    /// Returns the hash of these bytes in hexadecimal.
    package static func hexadecimal(of bytes: some Collection<UInt8>) -> String {
        hexadecimal(hash(of: bytes))
    }

    /// Returns the HMAC-SHA-256 of these bytes (RFC 2104).
    package static func hmac(of bytes: some Collection<UInt8>, key: some Collection<UInt8>) -> [UInt8] {
        let key = key.count > blockSize ? hash(of: key) : Array(key)
        let block = key + [UInt8](repeating: 0, count: blockSize - key.count)
        return hash(of: block.map { $0 ^ 0x5c } + hash(of: block.map { $0 ^ 0x36 } + bytes))
    }

    /// Returns the bytes in hexadecimal.
    package static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private static func hash(of bytes: some Collection<UInt8>) -> [UInt8] {
        var hash = SHA256()
        Array(bytes).withUnsafeBytes { hash.update($0) }
        return hash.bytes()
    }

    /// Adds bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        count += UInt64(bytes.count)
        var start = 0
        if !pending.isEmpty {
            start = min(bytes.count, Self.blockSize - pending.count)
            pending += bytes[..<start]
            guard pending.count == Self.blockSize else { return }
            pending.withUnsafeBytes { Self.compress($0, &state, &schedule) }
            pending.removeAll(keepingCapacity: true)
        }
        while bytes.count - start >= Self.blockSize {
            Self.compress(bytes.slice(start..<start + Self.blockSize), &state, &schedule)
            start += Self.blockSize
        }
        pending += bytes[start...]
    }

    /// Completes the hash and returns it in hexadecimal.
    package consuming func finish() -> String {
        Self.hexadecimal(bytes())
    }

    private consuming func bytes() -> [UInt8] {
        let bits = count * 8
        let zeros = (Self.blockSize * 2 - 9 - pending.count) % Self.blockSize
        var end: [UInt8] = [0x80] + [UInt8](repeating: 0, count: zeros)
        end += (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * $0)) }
        end.withUnsafeBytes { update($0) }
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }
    }

    private static func compress(_ block: UnsafeRawBufferPointer, _ state: inout [UInt32], _ w: inout [UInt32]) {
        for i in 0..<16 {
            w[i] = UInt32(bigEndian: block.loadUnaligned(fromByteOffset: 4 * i, as: UInt32.self))
        }
        for i in 16..<64 {
            let s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ (w[i - 15] >> 3)
            let s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ (w[i - 2] >> 10)
            w[i] = w[i - 16] &+ s0 &+ w[i - 7] &+ s1
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        for i in 0..<64 {
            let t1 = h &+ (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) &+ ((e & f) ^ (~e & g)) &+ k[i] &+ w[i]
            let t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) &+ ((a & b) ^ (a & c) ^ (b & c))
            (h, g, f, e, d, c, b, a) = (g, f, e, d &+ t1, c, b, a, t1 &+ t2)
        }
        for (i, word) in [a, b, c, d, e, f, g, h].enumerated() { state[i] &+= word }
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word >> count | word << (32 - count)
    }

    private static let k: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}
