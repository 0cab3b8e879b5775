/// Why a strategy cannot request a page.
public struct PageStrategyError: Error, CustomStringConvertible {
    /// A description for the developer.
    public let description: String

    /// Creates an error.
    public init(_ description: String) {
        self.description = description
    }
}
