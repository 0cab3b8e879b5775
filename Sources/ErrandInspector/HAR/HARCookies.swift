import Errand
import Foundation

extension HARValue {
    /// The cookies of all `Cookie` lines.
    static func sentCookies(_ headers: HTTPHeaders, _ printer: Printer) -> [HARValue] {
        headers.values("Cookie").flatMap { $0.split(separator: ";") }.map { pair in
            .object(Self.pair(pair, printer))
        }
    }

    /// The cookies of all `Set-Cookie` lines, with their attributes (RFC 6265bis section 4.1).
    ///
    /// - Parameters:
    ///   - headers: The headers of the response.
    ///   - printer: Prints the values.
    ///   - date: The time to which `Max-Age` refers.
    /// - Returns: The cookies in the order of their lines.
    static func receivedCookies(_ headers: HTTPHeaders, _ printer: Printer, at date: Date) -> [HARValue] {
        headers.values("Set-Cookie").map { line in
            let parts = line.split(separator: ";", omittingEmptySubsequences: false)
            var members = pair(parts.first ?? "", printer)
            var attributes: [String: String] = [:]
            for part in parts.dropFirst() {
                let (name, value) = halves(part)
                attributes[name?.lowercased() ?? value.lowercased()] = name == nil ? "" : value
            }
            let seconds = attributes["max-age"].flatMap(Int32.init).map { date + Double($0) }
            let expires = seconds ?? attributes["expires"].flatMap { CookieDate.parse(Array($0.utf8)) }
            members += [
                ("path", attributes["path"].map { .string(printer.attribute($0)) }),
                ("domain", attributes["domain"].map { .string(printer.attribute($0)) }),
                (
                    "expires",
                    expires.map { .string($0.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))) }
                ),
                ("httpOnly", .bool(attributes["httponly"] != nil)),
                ("secure", .bool(attributes["secure"] != nil)),
            ]
            return .object(members)
        }
    }

    private static func pair(_ text: Substring, _ printer: Printer) -> [(name: String, value: HARValue?)] {
        let (name, value) = halves(text)
        return [("name", .string(name.map(printer.cookieName) ?? "")), ("value", .string(printer.cookieValue(value)))]
    }

    /// A pair without `=` is a value without a name.
    private static func halves(_ text: Substring) -> (name: String?, value: String) {
        guard let equals = text.firstIndex(of: "=") else { return (nil, text.trimmingCharacters(in: .whitespaces)) }
        let name = text[..<equals].trimmingCharacters(in: .whitespaces)
        return (name, text[text.index(after: equals)...].trimmingCharacters(in: .whitespaces))
    }
}
