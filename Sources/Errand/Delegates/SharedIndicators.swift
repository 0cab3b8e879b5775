/// Counts the loads that show an indicator, for views that cannot store the number.
///
/// An indicator has an entry only while a load retains it, so no entry is that of a later object at the same address.
@MainActor enum SharedIndicators {
    private static var counts: [ObjectIdentifier: Int] = [:]

    /// Adds a load, and returns whether it is the only one.
    static func add(_ indicator: any LoadingIndicator) -> Bool {
        counts[ObjectIdentifier(indicator), default: 0] += 1
        return counts[ObjectIdentifier(indicator)] == 1
    }

    /// Removes a load, and returns whether it was the last one.
    static func remove(_ indicator: any LoadingIndicator) -> Bool {
        let id = ObjectIdentifier(indicator)
        guard let count = counts[id] else { return false }
        counts[id] = count > 1 ? count - 1 : nil
        return count == 1
    }
}
