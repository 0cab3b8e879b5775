/// The messages of a server for the fields of a form, from JSON such as `{"name":["…"],"items":[{"price":["…"]}]}`.
struct FieldMessages {
    /// The name that Django REST framework gives to messages about the whole form.
    private static let wholeForm = "non_field_errors"

    /// The messages by path; those of a text or a list without a name are under `non_field_errors`.
    private(set) var byField: [String: [String]] = [:]

    init(_ json: JSONValue) {
        add(json, at: "")
    }

    /// All messages: those of the whole form, then those of the fields by name, each in a line.
    var text: String {
        let fields = byField.keys.filter { $0 != Self.wholeForm }.sorted()
        let lines = fields.flatMap { field in (byField[field] ?? []).map { "\(field): \($0)" } }
        return ((byField[Self.wholeForm] ?? []) + lines).joined(separator: "\n")
    }

    private mutating func add(_ json: JSONValue, at path: String) {
        switch json {
        case .string(let text):
            byField[path.isEmpty ? Self.wholeForm : path, default: []].append(text)
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

    private static func path(_ path: String, _ name: String) -> String {
        path.isEmpty ? name : "\(path).\(name)"
    }
}
