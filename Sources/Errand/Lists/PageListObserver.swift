/// Receives the changes of a list row by row, for a table that is updated instead of reloaded.
///
/// Not retained.
///
/// Every method is called on the main actor, after the list has changed and before the delegate receives the load's ending.
/// Any method of the list may be called inside.
@MainActor public protocol PageListObserver: AnyObject {
    /// The whole list has been replaced; a table reloads its data.
    func pageListDidReload(_ request: BaseAPIRequest)

    /// A page has been added before or after the other rows, which have not changed.
    ///
    /// Both ranges are those of one batch update of a table: `removed` are rows before the change, `inserted` are rows after
    /// it.
    ///
    /// - Parameters:
    ///   - request: The list.
    ///   - inserted: The new rows; empty for a page without new items.
    ///   - removed: The rows removed because of ``PageAPIRequest/maxPages``; empty without it.
    func pageList(_ request: BaseAPIRequest, didInsert inserted: Range<Int>, removing removed: Range<Int>)

    /// A page could not be loaded; the rows have not changed.
    ///
    /// Does nothing by default.
    func pageList(_ request: BaseAPIRequest, didFailWith error: APIError)
}

extension PageListObserver {
    /// Does nothing.
    public func pageList(_ request: BaseAPIRequest, didFailWith error: APIError) {}
}

/// A change of a list by the ending of a load.
enum ListChange {
    case reload
    case rows(inserted: Range<Int>, removed: Range<Int>)
    case failure(APIError)
}

extension PageListObserver {
    /// Calls the method for a change.
    func notify(of change: ListChange, in request: BaseAPIRequest) {
        switch change {
        case .reload: pageListDidReload(request)
        case .rows(let inserted, let removed): pageList(request, didInsert: inserted, removing: removed)
        case .failure(let error): pageList(request, didFailWith: error)
        }
    }
}
