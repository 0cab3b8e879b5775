/// Encodes international host names in ASCII (RFC 3492).
enum Punycode {
    /// The ASCII form of one label of a host name: the label if it is ASCII, otherwise `xn--` and its encoding.
    static func label(_ label: String) -> String {
        guard !label.utf8.allSatisfy({ $0 < 0x80 }) else { return label }
        return "xn--" + encode(label.unicodeScalars.map(\.value))
    }

    private static func encode(_ input: [UInt32]) -> String {
        var output = input.filter { $0 < 0x80 }.map { UInt8(truncatingIfNeeded: $0) }
        let basicCount = output.count
        if basicCount > 0 { output.append(UInt8(ascii: "-")) }
        var state = State(handled: basicCount)
        while let next = input.filter({ $0 >= state.codePoint }).min() {
            state.advance(to: next)
            for scalar in input {
                if scalar < next { state.delta += 1 }
                if scalar == next { output += state.digits(isFirst: state.handled == basicCount) }
            }
            state.delta += 1
            state.codePoint += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    private struct State {
        var codePoint: UInt32 = 128
        var delta = 0
        var bias = 72
        var handled: Int

        init(handled: Int) { self.handled = handled }

        mutating func advance(to next: UInt32) {
            delta += Int(next - codePoint) * (handled + 1)
            codePoint = next
        }

        mutating func digits(isFirst: Bool) -> [UInt8] {
            var rest = delta
            var digits: [UInt8] = []
            var position = 36
            while true {
                let threshold = min(max(position - bias, 1), 26)
                if rest < threshold { break }
                digits.append(Self.digit(threshold + (rest - threshold) % (36 - threshold)))
                rest = (rest - threshold) / (36 - threshold)
                position += 36
            }
            digits.append(Self.digit(rest))
            adapt(isFirst: isFirst)
            return digits
        }

        private mutating func adapt(isFirst: Bool) {
            handled += 1
            var rest = isFirst ? delta / 700 : delta / 2
            rest += rest / handled
            var shift = 0
            while rest > 455 {
                rest /= 35
                shift += 36
            }
            bias = shift + 36 * rest / (rest + 38)
            delta = 0
        }

        private static func digit(_ value: Int) -> UInt8 {
            UInt8(truncatingIfNeeded: value < 26 ? value + 97 : value + 22)
        }
    }
}
