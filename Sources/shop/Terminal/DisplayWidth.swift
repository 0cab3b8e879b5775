/// The width of text in a terminal (Unicode Standard Annex 11: wide and fullwidth characters take two columns).
enum DisplayWidth {
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF,
        0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD,
    ]

    /// Returns the width of `text`, in columns.
    static func of(_ text: String) -> Int {
        text.reduce(0) { $0 + of($1) }
    }

    // Only the first scalar of a character takes columns; combining marks do not.
    private static func of(_ character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        return wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }
}
