import Testing

extension Trait where Self == Comment {
    /// The number of the case in the fault matrix that a test covers.
    static func fault(_ number: Int) -> Comment { "fault \(number)" }
}
