/// Why a list cannot be edited; the list has not changed.
public struct ListEditError: Error, CustomStringConvertible {
    /// A description for the developer, without items and IDs.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
