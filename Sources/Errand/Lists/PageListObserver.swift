/// Hears of a list's changes row by row, for a table that is updated instead of reloaded.
///
/// Not retained.
///
/// Every method is called on the main actor, after the list has changed and before the delegate hears of the load's
/// ending. Anything may be done inside.
@MainActor public protocol PageListObserver: AnyObject {
    /// The list has been replaced as a whole: a table reloads its data.
    func pageListDidReload(_ request: BaseAPIRequest)

    /// A page has come, in front of the rows that are there or behind them; the others stay as they are.
    ///
    /// Both ranges are those of one batch update of a table: `removed` counts the rows before the change, `inserted` those
    /// after it.
    ///
    /// - Parameters:
    ///   - request: The list.
    ///   - inserted: The new rows; empty for a page that brought nothing new.
    ///   - removed: The rows that went because of ``PageAPIRequest/maxPages``; empty without it.
    func pageList(_ request: BaseAPIRequest, didInsert inserted: Range<Int>, removing removed: Range<Int>)

    /// A page has not come; the rows are as they were.
    ///
    /// Does nothing by default.
    func pageList(_ request: BaseAPIRequest, didFail error: APIError)
}

extension PageListObserver {
    /// Does nothing.
    public func pageList(_ request: BaseAPIRequest, didFail error: APIError) {}
}
