/// The edits of a list since a page of a refresh was requested, whose answer may not have them.
///
/// After such an edit the page is requested again, but only twice in a refresh: a list that is edited more often than the
/// server answers would never be refreshed. After that the edits are applied to the answer, by the IDs of the items.
struct RefreshEdits<Item> {
    fileprivate struct Entry {
        let edit: ListEdit<Item>
        /// The item that the edit has changed; for an insertion the one before it, `nil` at the beginning of the list.
        let anchor: Item?
    }

    private var entries: [Entry] = []
    private var repeatCount = 0

    /// Whether a page may be requested again.
    var allowsRepeat: Bool { repeatCount < 2 }

    /// Prepares for a load, which may continue a refresh or begin it again.
    mutating func begin(isFollowUp: Bool) {
        entries = []
        if !isFollowUp { repeatCount = 0 }
    }

    /// Records that the refresh begins again; the server has the edits up to now.
    mutating func repeatRefresh() {
        entries = []
        repeatCount += 1
    }

    /// Adds an edit that is about to be applied to `pages`.
    mutating func append(_ edit: ListEdit<Item>, of pages: LoadedPages<Item>) {
        guard case .insert = edit.change else {
            return entries.append(Entry(edit: edit, anchor: pages.items[edit.row]))
        }
        // Before the first row of a list that begins later than the refreshed one, the place is not known.
        guard edit.row > 0 || pages.previous == nil else { return }
        entries.append(Entry(edit: edit, anchor: edit.row > 0 ? pages.items[edit.row - 1] : nil))
    }

    /// Applies the edits to the pages received so far, unless they have them already.
    ///
    /// Does nothing for items without IDs, of which it is not known whether the pages have them.
    func apply(to pages: inout LoadedPages<Item>, _ rules: ListRules<Item>) {
        guard !entries.isEmpty, let identity = rules.itemID ?? .ofIdentifiable else { return }
        for entry in entries {
            for edit in edits(for: entry, of: pages, identity) { pages.apply(edit, rules: rules) }
        }
    }

    /// Applies the edits to the pages received so far, and returns whether the next page begins where it did before.
    func keepsNext(applyingTo pages: inout LoadedPages<Item>, _ rules: ListRules<Item>) -> Bool {
        guard pages.pageCount > 0 else { return true }
        let next = pages.nextStart
        apply(to: &pages, rules)
        return pages.nextStart == next
    }
}

extension RefreshEdits {
    /// Returns what changes `pages` as an edit has changed the list; nothing if they have the change.
    private func edits(
        for entry: Entry,
        of pages: LoadedPages<Item>,
        _ identity: ItemID<Item>
    ) -> [ListEdit<Item>] {
        func rows(of item: Item?) -> [Int] {
            item.map { item in pages.items.indices.filter { identity.areSame(pages.items[$0], item) } } ?? []
        }
        func edit(_ change: ListEdit<Item>.Change, at row: Int) -> ListEdit<Item> {
            ListEdit(change: change, row: row, isOnServer: true)
        }
        let anchors = rows(of: entry.anchor)
        switch entry.edit.change {
        case .remove:
            return anchors.prefix(1).map { edit(.remove, at: $0) }
        case .replace(let item):
            let known = rows(of: item)
            guard !known.isEmpty else { return anchors.prefix(1).map { edit(.replace(item), at: $0) } }
            let replaced = known.contains(where: anchors.contains) ? [] : anchors.prefix(1)
            return known.map { edit(.replace(item), at: $0) } + replaced.map { edit(.remove, at: $0) }
        case .insert(let item):
            let known = rows(of: item)
            guard known.isEmpty else { return known.map { edit(.replace(item), at: $0) } }
            guard let place = entry.anchor == nil ? 0 : anchors.first.map({ $0 + 1 }) else { return [] }
            // After the last row the server has it in the next page.
            return place == pages.items.count && pages.next != nil ? [] : [edit(.insert(item), at: place)]
        }
    }
}
