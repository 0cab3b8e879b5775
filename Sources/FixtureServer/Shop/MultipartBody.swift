import Foundation

/// The parts of a `multipart/form-data` body (RFC 7578).
package struct MultipartBody: Sendable {
    /// One part.
    package struct Part: Sendable, Equatable {
        /// The header lines.
        package let headers: HeaderLines
        /// The bytes.
        package let bytes: [UInt8]

        /// The name of the field.
        package var name: String? { parameter("name") }
        /// The name of the file; `nil` when the part has none.
        package var filename: String? { parameter("filename") }

        private func parameter(_ name: String) -> String? {
            let value = headers["Content-Disposition"]?.components(separatedBy: "; \(name)=\"").dropFirst().first
            return value.map { String($0.prefix { $0 != "\"" }) }
        }
    }

    /// The parts in their order.
    package let parts: [Part]

    /// Parses a request's body; `nil` when it is not a complete multipart body.
    package init?(_ request: RecordedRequest) {
        guard let type = request.header("Content-Type"), type.hasPrefix("multipart/form-data"),
            let boundary = type.components(separatedBy: "boundary=").dropFirst().first
        else { return nil }
        let name = boundary.trimmingCharacters(in: CharacterSet(charactersIn: "\""))
        self.init(Data("\r\n".utf8) + request.body, delimiter: Data("\r\n--\(name)".utf8))
    }

    private init?(_ body: Data, delimiter: Data) {
        var parts: [Part] = []
        guard var start = body.range(of: delimiter)?.upperBound else { return nil }
        while !body[start...].starts(with: "--".utf8) {
            guard let end = body.range(of: delimiter, in: start..<body.endIndex),
                let part = Self.part(body[start..<end.lowerBound])
            else { return nil }
            parts.append(part)
            start = end.upperBound
        }
        self.parts = parts
    }

    private static func part(_ bytes: Data) -> Part? {
        guard let end = bytes.range(of: Data("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let headers = lines.dropFirst().compactMap { line -> HeaderLine? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            return HeaderLine(String(line[..<colon]), value)
        }
        return Part(headers: HeaderLines(headers), bytes: Array(bytes[end.upperBound...]))
    }
}
