extension HTTPRequest {
    /// Returns the header lines in the form of a `URLRequest`: one per name, without those that the transport writes.
    ///
    /// Lines of one name are joined with a comma (RFC 9110 section 5.3) and without a space, as AWS signs them, those of `Cookie`
    /// with a semicolon.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` for a value that is not UTF-8, which a `URLRequest` cannot contain.
    func urlSessionFields(bodyBytes: Int64) throws(TransportError) -> [String: String] {
        var joined = HTTPHeaders()
        for field in headers where !field.isWrittenByTransport {
            guard field.bytes.elementsEqual(field.value.utf8) else {
                let shown = Redactor.shared.name(ofHeader: field.name)
                throw TransportError(.invalidRequest, "the value of the header \(shown) is not UTF-8")
            }
            let value = String(Substring(field.value.utf8.trimmingBlanks))
            joined[field.name] = joined[field.name].map { $0 + field.separator + value } ?? value
        }
        #if canImport(FoundationNetworking)
        for name in HTTPField.suppressedNames where joined[name] == nil { joined[name] = HTTPField.suppressed }
        // Elsewhere, the session knows the length of a body and sends it.
        if bodyBytes > 0 { joined["Content-Length"] = String(bodyBytes) }
        #endif
        return Dictionary(joined.map { ($0.name, $0.value) }) { first, _ in first }
    }
}

extension HTTPHeaders {
    /// Creates the lines of a response, whose order `URLSession` does not keep and whose duplicates it joins.
    ///
    /// They are sorted by name; `Set-Cookie`, the only field that is not a list, is split again. Those whose name is not a token
    /// (RFC 9110 section 5.1) are omitted.
    init(urlSessionFields fields: [AnyHashable: Any]) {
        let lines = fields.compactMap { name, value in
            (name as? String).flatMap { name in (value as? String).map { HTTPField(name, ofURLSession: $0) } }
        }.filter { !$0.name.isEmpty && $0.name.utf8.allSatisfy(\.isToken) }
        self.init(lines.sorted { $0.name < $1.name }.flatMap(\.unfolded))
    }
}

extension HTTPField {
    #if canImport(FoundationNetworking)
    /// Headers that FoundationNetworking or libcurl would add; without `Transfer-Encoding`, a body stream is not chunked.
    fileprivate static let suppressedNames = ["Transfer-Encoding", "Content-Type", "User-Agent", "Accept-Language"]

    /// A value for which libcurl omits the header.
    fileprivate static let suppressed = " "
    #endif

    fileprivate init(_ name: String, ofURLSession value: String) {
        #if canImport(Darwin)
        // Untested: each byte has become a character.
        if value.unicodeScalars.allSatisfy({ $0.value <= 0xFF }) {
            self.init(name, bytes: value.unicodeScalars.map { UInt8($0.value) })
            return
        }
        #endif
        self.init(name, value)
    }

    fileprivate var separator: String { isNamed("Cookie") ? "; " : "," }

    /// One field for each cookie of a joined `Set-Cookie`; any other field unchanged.
    fileprivate var unfolded: [HTTPField] {
        guard isNamed("Set-Cookie") else { return [self] }
        var lines: [String] = []
        for part in value.split(separator: ", ", omittingEmptySubsequences: false) {
            guard !lines.isEmpty, !part.startsCookie else {
                lines.append(String(part))
                continue
            }
            // In its place: a copy for each part would take time that grows with the square of the line.
            lines[lines.count - 1] += ", "
            lines[lines.count - 1] += part
        }
        return lines.map { HTTPField(name, $0) }
    }
}

extension StringProtocol {
    /// Whether this begins with a cookie's name and `=`, which does not follow a comma inside a date.
    fileprivate var startsCookie: Bool {
        guard let end = firstIndex(where: { "=;, \t".contains($0) }), end != startIndex else { return false }
        return self[end] == "="
    }
}
