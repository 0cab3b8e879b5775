/// One link of a `Link` header (RFC 8288 section 3).
struct HTTPLink {
    /// As received, absolute or relative, without surrounding whitespace.
    let reference: HTTPField
    /// By their names in lower case; if a name is repeated, the first value.
    let parameters: [String: String]

    /// The tokens of `rel`, in lower case.
    var relations: [String] {
        (parameters["rel"] ?? "").lowercased().split(whereSeparator: \.isWhitespace).map(String.init)
    }

    func hasRelation(_ relation: String) -> Bool {
        relations.contains(relation.lowercased())
    }

    /// Without malformed links.
    static func links(in headers: HTTPHeaders) -> [HTTPLink] {
        headers.fields(named: "Link").flatMap(links)
    }

    /// RFC 8288 appendix B.2, folded or not.
    static func links(in field: HTTPField) -> [HTTPLink] {
        // A line break and the blanks after it fold a long line.
        let value = field.value.replacing(/\R[ \t]*/, with: "")
        return HeaderParameters.parts(of: value, separatedBy: ",").compactMap { link in
            guard link.first == "<", let end = link.firstIndex(of: ">") else { return nil }
            let parameters = HeaderParameters.parse(";\(link[end...].dropFirst())").parameters
            return HTTPLink(
                reference: field.replacingValue(link[..<end].dropFirst().trimmingBlanks),
                parameters: Dictionary(parameters.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
            )
        }
    }
}
