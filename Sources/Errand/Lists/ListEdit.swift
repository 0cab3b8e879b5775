/// A change of one row of a list.
struct ListEdit<Item> {
    enum Change {
        case replace(Item)
        case insert(Item)
        case remove
    }

    let change: Change
    let row: Int
    let isOnServer: Bool

    var listChange: ListChange {
        switch change {
        case .replace: .replaced(row..<row + 1)
        case .insert: .rows(inserted: row..<row + 1, removed: row..<row)
        case .remove: .rows(inserted: row..<row, removed: row..<row + 1)
        }
    }
}

/// The settings of a list, as its request returns them for one page or edit.
struct ListRules<Item> {
    let strategy: any PageStrategy
    let itemID: ItemID<Item>?
    let maxPages: Int?
}

/// Edits of a list in place.
///
/// The observer is notified before an edit returns, the delegate is not. An edit that the server's list has as well moves the
/// position of the next page in lists by number and offset, so that no item is skipped or repeated. A page that was requested
/// before such an edit, and whose response may not have it, is requested again within the same load.
extension PageAPIRequest {
    /// Replaces the item with the same ID, in every row that contains it.
    ///
    /// The observer is notified once, with the range from the first to the last row that contains the item.
    ///
    /// - Parameters:
    ///   - item: The new item. Its ID is the one that ``itemID`` returns, or else that of an `Identifiable` item.
    ///   - onServer: Whether the server's list contains the new item as well; true by default. If true, a running reload is
    ///     repeated, because its response may contain the old item.
    /// - Returns: Whether the list contains an item with this ID.
    /// - Throws: ``ListEditError`` when the items have no IDs.
    @discardableResult
    public func replace(_ item: Item, onServer: Bool = true) throws(ListEditError) -> Bool {
        let rules = prepareEdit()
        let identity = try identity(rules)
        let rows = list.loaded.items.indices.filter { identity.areSame(list.loaded.items[$0], item) }
        guard let first = rows.first, let last = rows.last else {
            if onServer { applyToAbsentItem() }
            return false
        }
        let edits = rows.map { ListEdit(change: .replace(item), row: $0, isOnServer: onServer) }
        // Not row by row: while the observer is notified of one, the others would have changed already.
        apply(edits, as: .replaced(first..<last + 1), by: rules)
        return true
    }

    /// Replaces the item of a row; the new item may have another ID.
    ///
    /// - Parameters:
    ///   - row: The index in ``items``.
    ///   - item: The new item.
    ///   - onServer: Whether the server's list contains the new item as well; true by default.
    /// - Throws: ``ListEditError`` if there is no such row, or if another row has an item with the same ``itemID``.
    public func replace(at row: Int, with item: Item, onServer: Bool = true) throws(ListEditError) {
        let rules = prepareEdit()
        try checkRow(row, isInsertion: false)
        if let itemID = rules.itemID, let known = self.row(of: item, itemID), known != row {
            throw ListEditError("row \(known) of the list has the ID of the new item for row \(row)")
        }
        apply(ListEdit(change: .replace(item), row: row, isOnServer: onServer), by: rules)
    }

    /// Inserts an item; with ``itemID``, replaces the item in place if the list already contains it.
    ///
    /// - Parameters:
    ///   - item: The new item.
    ///   - row: Its index in ``items``: 0 is the beginning, the number of items is the end.
    ///   - onServer: Whether the server's list contains the item as well, at the same place; true by default. Pass false for an
    ///     item that only the app shows, and for an item that the server's list contains after the loaded items.
    /// - Returns: Whether a row was added.
    /// - Throws: ``ListEditError`` when the list has no such index.
    @discardableResult
    public func insert(_ item: Item, at row: Int, onServer: Bool = true) throws(ListEditError) -> Bool {
        let rules = prepareEdit()
        try checkRow(row, isInsertion: true)
        let known = rules.itemID.flatMap { self.row(of: item, $0) }
        let change: ListEdit<Item>.Change = known == nil ? .insert(item) : .replace(item)
        apply(ListEdit(change: change, row: known ?? row, isOnServer: onServer), by: rules)
        return known == nil
    }

    /// Removes the item with an ID.
    ///
    /// With ``itemID``, a page that contains the item does not add it again until the list is reloaded, if the list contained it.
    /// Where the list did not, for example because ``maxPages`` has removed the page, a list by number or offset does not know that
    /// items before the next page are fewer: call ``APIManager/refreshAll()`` then.
    ///
    /// - Parameters:
    ///   - id: The ID, by ``itemID``, or else of an `Identifiable` item.
    ///   - onServer: Whether the server's list no longer contains the item; true by default.
    /// - Returns: Whether the list contained it.
    /// - Throws: ``ListEditError`` when the items have no IDs, or IDs of another type.
    @discardableResult
    public func remove(id: some Hashable, onServer: Bool = true) throws(ListEditError) -> Bool {
        var wasFound = false
        while true {
            let rules = prepareEdit()
            let identity = try identity(rules)
            guard let isWanted = identity.recognizer(id) else {
                throw ListEditError("the IDs of the items are of type \(identity.idType), not \(type(of: id))")
            }
            // The rows of one item on the server, from the last one, so that the first one counts there.
            guard let row = list.loaded.items.lastIndex(where: isWanted) else {
                if onServer, !wasFound { applyToAbsentItem() }
                return wasFound
            }
            let isFirst = list.loaded.items[..<row].contains(where: isWanted) == false
            apply(ListEdit(change: .remove, row: row, isOnServer: onServer && isFirst), by: rules)
            wasFound = true
            if isFirst { return true }
        }
    }

    /// Removes the item of a row.
    ///
    /// - Parameters:
    ///   - row: The index in ``items``.
    ///   - onServer: Whether the server's list no longer contains the item; true by default.
    /// - Returns: The item.
    /// - Throws: ``ListEditError`` when there is no such row.
    @discardableResult
    public func remove(at row: Int, onServer: Bool = true) throws(ListEditError) -> Item {
        let rules = prepareEdit()
        try checkRow(row, isInsertion: false)
        let item = list.loaded.items[row]
        apply(ListEdit(change: .remove, row: row, isOnServer: onServer), by: rules)
        return item
    }
}

extension PageAPIRequest {
    private func identity(_ rules: ListRules<Item>) throws(ListEditError) -> ItemID<Item> {
        if let identity = rules.itemID ?? .ofIdentifiable { return identity }
        throw ListEditError("the items have no IDs: override itemID, or make \(Item.self) Identifiable")
    }

    private func row(of item: Item, _ itemID: ItemID<Item>) -> Int? {
        list.loaded.items.firstIndex { itemID.areSame($0, item) }
    }

    private func checkRow(_ row: Int, isInsertion: Bool) throws(ListEditError) {
        let count = list.loaded.items.count
        guard row >= 0, row < count || isInsertion && row == count else {
            throw ListEditError("there is no row \(row) in a list of \(count) items")
        }
    }
}

/// Why a list cannot be edited; the list has not changed.
public struct ListEditError: Error, CustomStringConvertible {
    /// A description for the developer, without items and IDs.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
