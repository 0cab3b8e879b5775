import Errand

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
