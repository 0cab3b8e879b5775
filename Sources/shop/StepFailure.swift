/// Why a step did not hold, as a sentence.
struct StepFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Makes sure that something holds.
///
/// - Throws: ``StepFailure`` with the sentence when it does not.
func expect(_ holds: Bool, _ otherwise: @autoclosure () -> String) throws(StepFailure) {
    guard holds else { throw StepFailure(otherwise()) }
}
