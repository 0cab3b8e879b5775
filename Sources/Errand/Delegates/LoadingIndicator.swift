/// Shows that a request is loading, for example with a spinner or a line in a terminal.
///
/// A load retains its indicator until the load has ended, so every call of ``showLoading(_:)`` is followed by a call of
/// ``hideLoading()``. Several loads may share an indicator.
@MainActor public protocol LoadingIndicator: AnyObject {
    /// A load has begun. Called once for each load, on the main actor, inside the call that began it.
    func showLoading(_ message: String?)

    /// A load has ended, whether or not it was sent. Called once for each load, on the main actor, before the delegate receives
    /// the ending.
    func hideLoading()
}

/// Counts the loads that show an indicator, for views that cannot store the number.
///
/// An indicator has an entry only while a load retains it, so no entry is that of a later object at the same address.
@MainActor enum SharedIndicators {
    private static var counts: [ObjectIdentifier: Int] = [:]

    /// Returns whether the load is the only one.
    static func add(_ indicator: any LoadingIndicator) -> Bool {
        counts[ObjectIdentifier(indicator), default: 0] += 1
        return counts[ObjectIdentifier(indicator)] == 1
    }

    /// Returns whether the load was the last one.
    static func remove(_ indicator: any LoadingIndicator) -> Bool {
        let id = ObjectIdentifier(indicator)
        guard let count = counts[id] else { return false }
        counts[id] = count > 1 ? count - 1 : nil
        return count == 1
    }
}
