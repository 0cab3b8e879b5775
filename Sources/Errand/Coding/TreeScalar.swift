import Foundation

/// A type that is decoded of one JSON scalar.
protocol TreeScalar: Decodable {
    /// `nil` for JSON of another type, and for a number out of range.
    init?(tree: JSONValue)

    /// Returns the JSON of this type that another JSON may be meant as: by default the number in a string.
    static func conversion(of value: JSONValue) -> JSONValue?
}

extension TreeScalar {
    static func conversion(of value: JSONValue) -> JSONValue? {
        guard let text = value.string else { return nil }
        return (try? JSONValue(json: Data(text.utf8)))
            ?? text.paddedNumber.flatMap { try? JSONValue(json: Data($0.utf8)) }
    }
}

extension String {
    /// The number in JSON's grammar that a text is in another one, such as `05`, `+5`, `.5` and `5.` are.
    fileprivate var paddedNumber: String? {
        guard utf8.contains(where: \.isASCIIDigit),
            let match = wholeMatch(of: /\s*+(?:\+|(-))?0*+([0-9]*+)(?:\.([0-9]*+))?\s*+/)
        else { return nil }
        let (whole, fraction) = (match.2.isEmpty ? "0" : match.2, match.3 ?? "")
        return "\(match.1 ?? "")\(whole)" + (fraction.isEmpty ? "" : ".\(fraction)")
    }
}

extension String: TreeScalar {
    init?(tree: JSONValue) {
        guard case .string(let text) = tree else { return nil }
        self = text
    }

    static func conversion(of value: JSONValue) -> JSONValue? {
        switch value {
        case .int(let number): .string("\(number)")
        // Not as 1e+19.
        case .double(let number): .string(Decimal(string: "\(number)").map { "\($0)" } ?? "\(number)")
        case .decimal(let number): .string("\(number)")
        case .null, .bool, .string, .array, .object: nil
        }
    }
}

extension Bool: TreeScalar {
    init?(tree: JSONValue) {
        guard case .bool(let flag) = tree else { return nil }
        self = flag
    }

    static func conversion(of value: JSONValue) -> JSONValue? {
        switch value {
        case 1, "1", "true": true
        case 0, "0", "false": false
        default: nil
        }
    }
}

extension Decimal: TreeScalar {
    init?(tree: JSONValue) {
        switch tree {
        case .int(let number): self.init(number)
        case .double(let number): self.init(string: "\(number)")
        case .decimal(let number): self = number
        case .null, .bool, .string, .array, .object: return nil
        }
    }
}

extension Double: TreeScalar {
    init?(tree: JSONValue) {
        switch tree {
        case .int(let number): self.init(number)
        case .double(let number): self = number
        // As a text, because only that is rounded to the nearest.
        case .decimal(let number): self.init("\(number)")
        case .null, .bool, .string, .array, .object: return nil
        }
    }
}

extension Float: TreeScalar {
    init?(tree: JSONValue) {
        switch tree {
        case .int(let number): self.init(number)
        case .double(let number) where number == 0 || !number.isFinite: self.init(number)
        // As a text as well: the nearest double may be in the middle of two others.
        case .double(let number): self.init(nearestTo: "\(number)")
        case .decimal(let number): self.init(nearestTo: "\(number)")
        case .null, .bool, .string, .array, .object: return nil
        }
    }

    /// `nil` for a number that is too large, or too small.
    private init?(nearestTo text: String) {
        guard let number = Self(text), number.isFinite, number != 0 else { return nil }
        self = number
    }
}

extension TreeScalar where Self: FixedWidthInteger {
    init?(tree: JSONValue) {
        switch tree {
        case .int(let number): self.init(exactly: number)
        // From there on, the text has other digits than the binary number.
        case .double(let number) where number.magnitude >= 0x1p53:
            guard let text = Decimal(string: "\(number)").map({ "\($0)" }) else { return nil }
            self.init(text)
        case .double(let number): self.init(exactly: number)
        case .decimal(let number): self.init("\(number)")
        case .null, .bool, .string, .array, .object: return nil
        }
    }
}

extension Int: TreeScalar {}
extension Int8: TreeScalar {}
extension Int16: TreeScalar {}
extension Int32: TreeScalar {}
extension Int64: TreeScalar {}
extension Int128: TreeScalar {}
extension UInt: TreeScalar {}
extension UInt8: TreeScalar {}
extension UInt16: TreeScalar {}
extension UInt32: TreeScalar {}
extension UInt64: TreeScalar {}
extension UInt128: TreeScalar {}
