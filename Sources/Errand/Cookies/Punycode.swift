/// Encodes international host names in ASCII (RFC 3492).
enum Punycode {
    /// The label if it is ASCII, otherwise `xn--` and its encoding.
    static func label(_ label: String) -> String {
        let input = label.unicodeScalars.map(\.value)
        var output = input.filter { $0 < 0x80 }.map { UInt8(truncatingIfNeeded: $0) }
        let basicCount = output.count
        guard basicCount < input.count else { return label }
        if basicCount > 0 { output.append(UInt8(ascii: "-")) }
        var (codePoint, delta, bias, handled) = (UInt32(128), 0, 72, basicCount)
        while let next = input.filter({ $0 >= codePoint }).min() {
            delta += Int(next - codePoint) * (handled + 1)
            for scalar in input where scalar <= next {
                guard scalar == next else {
                    delta += 1
                    continue
                }
                output += digits(of: delta, bias: bias)
                bias = adaptedBias(delta, handled: handled + 1, isFirst: handled == basicCount)
                (delta, handled) = (0, handled + 1)
            }
            (delta, codePoint) = (delta + 1, next + 1)
        }
        return "xn--" + String(decoding: output, as: UTF8.self)
    }

    private static func digits(of number: Int, bias: Int) -> [UInt8] {
        var (rest, position, digits) = (number, 36, [UInt8]())
        while true {
            let threshold = min(max(position - bias, 1), 26)
            guard rest >= threshold else { return digits + [digit(rest)] }
            digits.append(digit(threshold + (rest - threshold) % (36 - threshold)))
            rest = (rest - threshold) / (36 - threshold)
            position += 36
        }
    }

    private static func digit(_ value: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: value < 26 ? value + 97 : value + 22)
    }

    private static func adaptedBias(_ delta: Int, handled: Int, isFirst: Bool) -> Int {
        var (rest, shift) = (isFirst ? delta / 700 : delta / 2, 0)
        rest += rest / handled
        while rest > 455 { (rest, shift) = (rest / 35, shift + 36) }
        return shift + 36 * rest / (rest + 38)
    }
}
