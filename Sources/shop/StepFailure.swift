/// Why a step failed, as a sentence.
struct StepFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Checks a condition.
///
/// - Throws: ``StepFailure`` with the sentence when the condition is false.
func expect(_ holds: Bool, _ otherwise: @autoclosure () -> String) throws(StepFailure) {
    guard holds else { throw StepFailure(otherwise()) }
}
