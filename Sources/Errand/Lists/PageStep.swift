/// What a wish for a part of a list means.
enum PageStep {
    case wait(for: RequestID)
    case load(LoadPosition)
    case stop
}
