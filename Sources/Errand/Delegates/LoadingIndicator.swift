/// Shows that something is loading, for example with a spinner or a line in a terminal.
///
/// Several loads may share an indicator: it is shown with the first of them and hidden with the last one, so every call of
/// ``showLoading(_:)`` is followed by a call of ``hideLoading()`` before the next one. The loads retain it, so a screen that is its
/// own indicator is not released before they have ended.
@MainActor public protocol LoadingIndicator: AnyObject {
    /// The first load has begun, or one with another message, for which the indicator has just been hidden; or the load whose
    /// message is shown has ended while others with a message run. Called on the main actor, inside the call that began the load,
    /// or before the delegate receives the ending.
    func showLoading(_ message: String?)

    /// The last load has ended, whether or not it was sent. Called on the main actor, before the delegate receives the ending.
    func hideLoading()
}

/// The indicators of loads and groups, each of which has an entry only while it is retained here.
@MainActor enum SharedIndicators {
    private static var ofLoads: [RequestID: [any LoadingIndicator]] = [:]
    private static var shown: [ObjectIdentifier: Entry] = [:]

    private struct Entry {
        /// Those that run, in the order in which their messages were shown.
        var loads: [(id: RequestID, message: String?)] = []
        var message: String?
        var isVisible = false
    }

    /// Shows an indicator until ``hideAll(of:)``; one that the load, or the group, has already may get another message.
    static func show(_ indicator: any LoadingIndicator, _ message: String?, of id: RequestID) {
        let key = ObjectIdentifier(indicator)
        var entry = shown[key] ?? Entry()
        let isNew = !entry.loads.contains { $0.id == id }
        if isNew { ofLoads[id, default: []].append(indicator) }
        if isNew || message != nil {
            entry.loads.removeAll { $0.id == id }
            entry.loads.append((id, message))
        }
        let isChanged = message != nil && message != entry.message
        entry.message = message ?? entry.message
        shown[key] = entry
        if isChanged || !entry.isVisible { show(indicator) }
    }

    private static func show(_ indicator: any LoadingIndicator) {
        let key = ObjectIdentifier(indicator)
        if shown[key]?.isVisible == true {
            shown[key]?.isVisible = false
            indicator.hideLoading()
        }
        // Others may have been begun or ended in there.
        guard let entry = shown[key], !entry.isVisible else { return }
        shown[key]?.isVisible = true
        indicator.showLoading(entry.message)
    }

    static func hideAll(of id: RequestID) {
        // Most loads have none.
        guard !ofLoads.isEmpty else { return }
        for indicator in ofLoads.removeValue(forKey: id) ?? [] { hide(indicator, of: id) }
    }

    private static func hide(_ indicator: any LoadingIndicator, of id: RequestID) {
        let key = ObjectIdentifier(indicator)
        guard var entry = shown[key] else { return }
        entry.loads.removeAll { $0.id == id }
        guard !entry.loads.isEmpty else {
            shown[key] = nil
            if entry.isVisible { indicator.hideLoading() }
            return
        }
        // The message of the load which has ended says nothing of those that still run, if they have one.
        let newest = entry.loads.compactMap(\.message).last ?? entry.message
        let isChanged = newest != entry.message && entry.isVisible
        entry.message = newest
        shown[key] = entry
        if isChanged { show(indicator) }
    }
}
