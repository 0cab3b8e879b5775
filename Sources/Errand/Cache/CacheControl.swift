/// The directives of `Cache-Control` (RFC 9111 section 5.2), from all lines of a message.
struct CacheControl {
    private var directives: [(name: String, value: String?)] = []

    init(_ headers: HTTPHeaders) {
        for element in headers.listElements(of: "Cache-Control") {
            let end = element.firstIndex(of: UInt8(ascii: "=")) ?? element.endIndex
            let name = String(decoding: element[..<end], as: UTF8.self).lowercased()
            directives.append((name, end < element.endIndex ? Self.unquoted(element[(end + 1)...]) : nil))
        }
        // RFC 9111 section 5.4.
        if directives.isEmpty, headers.listElements(of: "Pragma").contains(where: { $0.equalsIgnoringCase("no-cache") })
        {
            directives.append(("no-cache", nil))
        }
    }

    var mayBeStored: Bool { !contains("no-store") || contains("must-understand") }

    func contains(_ name: String) -> Bool { directives.contains { $0.name == name } }

    /// Returns 0 for what is no number, and for two values that contradict each other (RFC 9111 section 4.2.1); `nil` without the
    /// directive.
    func seconds(_ name: String) -> Int64? {
        let values = directives.filter { $0.name == name || $0.name.hasPrefix(name + " ") }.map {
            Self.seconds($0.value)
        }
        guard let first = values.first else { return nil }
        return values.allSatisfy { $0 == first } ? first ?? 0 : 0
    }

    /// Returns the names in a directive such as `no-cache="Set-Cookie"`; `nil` without one that applies to the whole message or
    /// to some names, and an empty array for the whole message.
    func names(in directive: String) -> [String]? {
        let found = directives.filter { $0.name == directive }
        guard !found.isEmpty else { return nil }
        guard found.allSatisfy({ $0.value != nil }) else { return [] }
        return found.flatMap { $0.value?.utf8.split(separator: UInt8(ascii: ",")) ?? [] }.map {
            String(decoding: $0.trimmingBlanks, as: UTF8.self)
        }
    }

    /// As in `Age` too; larger numbers than a century are one.
    static func seconds(_ text: String?) -> Int64? {
        guard let text, !text.isEmpty, text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        return min(Int64(text) ?? .max, 3_155_760_000)
    }

    private static func unquoted(_ value: ArraySlice<UInt8>) -> String {
        let mark = UInt8(ascii: "\"")
        guard value.count > 1, value.first == mark, value.last == mark else {
            return String(decoding: value, as: UTF8.self)
        }
        return String(decoding: value.dropFirst().dropLast(), as: UTF8.self)
    }
}

extension HTTPHeaders {
    /// The elements of a list in all lines of this name (RFC 9110 section 5.6.1), without blanks around them; commas in quoted
    /// strings separate nothing.
    func listElements(of name: String) -> [ArraySlice<UInt8>] {
        flatMap { $0.isNamed(name) ? $0.bytes.listElements : [] }
    }
}

extension [UInt8] {
    fileprivate var listElements: [ArraySlice<UInt8>] {
        var (elements, start, isQuoted, isEscaped): ([ArraySlice<UInt8>], Int, Bool, Bool) = ([], 0, false, false)
        for index in 0...count {
            switch index < count ? self[index] : UInt8(ascii: ",") {
            case _ where isEscaped && index < count: isEscaped = false
            case UInt8(ascii: "\\"): isEscaped = isQuoted
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted || index == count:
                let element = self[start..<index].trimmingBlanks
                if !element.isEmpty { elements.append(element) }
                start = index + 1
            default: break
            }
        }
        return elements
    }
}
