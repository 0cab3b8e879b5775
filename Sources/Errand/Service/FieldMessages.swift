/// The messages of a server for the fields of a form, from JSON such as `{"name":["…"],"items":[{"price":["…"]}]}`.
struct FieldMessages {
    /// As Django REST framework names messages about the whole form.
    private static let wholeForm = "non_field_errors"
    /// The messages after these, and those with a longer path, are ignored: a response could make them fill the memory.
    private static let (maxMessages, maxPathBytes) = (1_000, 256)

    /// By path; those of a text or a list without a name are under `non_field_errors`.
    private(set) var byField: [String: [String]] = [:]
    private var count = 0

    init(_ json: JSONValue) { add(json, at: "") }

    /// From problem details: an object, or an array as in RFC 9457 section 3, whose elements have a `detail` and a `pointer`.
    init(errors json: JSONValue?) {
        if case .object? = json { add(json ?? .null, at: "") }
        guard case .array(let errors)? = json else { return }
        for error in errors {
            guard let detail = error["detail"]?.string else { continue }
            let path = (error["pointer"]?.string ?? "").split(separator: "/").drop { $0 == "#" }
            append(detail, at: path.joined(separator: "."))
        }
    }

    /// First the messages of the whole form, then those of the fields by name, each in a line.
    var text: String {
        let fields = byField.keys.filter { $0 != Self.wholeForm }.sorted()
        let lines = fields.flatMap { field in (byField[field] ?? []).map { "\(field): \($0)" } }
        return ((byField[Self.wholeForm] ?? []) + lines).joined(separator: "\n")
    }

    private mutating func add(_ json: JSONValue, at path: String) {
        guard count < Self.maxMessages, path.utf8.count <= Self.maxPathBytes else { return }
        switch json {
        case .string(let text):
            append(text, at: path)
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                // A list of texts has the messages of one field, and a list of objects those of the elements of one.
                add(element, at: element.string == nil ? Self.path(path, "\(index)") : path)
            }
        case .object(let members):
            for (name, member) in members { add(member, at: Self.path(path, name)) }
        case .null, .bool, .int, .double, .decimal:
            break
        }
    }

    private mutating func append(_ text: String, at path: String) {
        guard count < Self.maxMessages, path.utf8.count <= Self.maxPathBytes else { return }
        count += 1
        byField[path.isEmpty ? Self.wholeForm : path, default: []].append(text)
    }

    private static func path(_ path: String, _ name: String) -> String {
        path.isEmpty ? name : "\(path).\(name)"
    }
}
