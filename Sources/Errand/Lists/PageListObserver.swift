/// Receives the changes of a list row by row, for a table that is updated instead of reloaded.
///
/// Not retained.
///
/// Every method is called on the main actor after the list has changed: for a page, before the delegate receives the load's
/// ending; for an edit, before the edit returns. You may call any method of the list inside.
@MainActor public protocol PageListObserver: AnyObject {
    /// The whole list has been replaced; a table reloads its data.
    func pageListDidReload(_ request: BaseAPIRequest)

    /// A page has been added before or after the other rows, or an edit has inserted or removed a row; the other rows have
    /// not changed.
    ///
    /// Use both ranges in one batch update of a table: `removed` counts rows before the change, `inserted` counts rows after it.
    ///
    /// - Parameters:
    ///   - request: The list.
    ///   - inserted: The new rows; empty for a page without new items.
    ///   - removed: The rows removed by an edit, or because of ``PageAPIRequest/maxPages``; empty otherwise.
    func pageList(_ request: BaseAPIRequest, didInsert inserted: Range<Int>, removing removed: Range<Int>)

    /// The items of these rows have been replaced by an edit; a table reloads the rows.
    ///
    /// For an item in several rows, the range extends from the first to the last of these rows.
    ///
    /// Calls ``pageListDidReload(_:)`` by default.
    func pageList(_ request: BaseAPIRequest, didReplace rows: Range<Int>)

    /// A page could not be loaded; the rows have not changed.
    ///
    /// Does nothing by default.
    func pageList(_ request: BaseAPIRequest, didFailWith error: APIError)
}

extension PageListObserver {
    /// Calls ``pageListDidReload(_:)``.
    public func pageList(_ request: BaseAPIRequest, didReplace rows: Range<Int>) { pageListDidReload(request) }
    /// Does nothing.
    public func pageList(_ request: BaseAPIRequest, didFailWith error: APIError) {}
}

/// A change of a list by the ending of a load or by an edit.
enum ListChange {
    case reload
    case rows(inserted: Range<Int>, removed: Range<Int>)
    case replaced(Range<Int>)
    case failure(APIError)
}
