import Observation

/// Registers the readers of a value, and notifies them of its changes.
///
/// Not generic, unlike the requests that have one: in a generic class, each access to an observed property creates its key path
/// again.
@MainActor @Observable final class ChangeObservation {
    private var changeCount = 0

    func access() { _ = changeCount }

    func recordChange() { changeCount += 1 }
}
