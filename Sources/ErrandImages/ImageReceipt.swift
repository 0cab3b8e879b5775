public import Errand

/// What one caller of an ``ImageLoader`` has asked for.
///
/// The receipt is of this caller alone: others that have asked for the same image still receive it. Releasing a receipt changes
/// nothing.
@MainActor public struct ImageReceipt {
    private let leave: () -> Void
    private let setRank: (ImageRank) -> Void

    init<Image>(_ callers: [ImageCaller<Image>], of loader: ImageLoader<Image>) {
        leave = { [weak loader] in
            for caller in callers { caller.leave() }
            loader?.leave(callers)
        }
        setRank = { [weak loader] in loader?.setRank($0, of: callers) }
    }

    /// Ends the caller's interest; does nothing when its image has been delivered.
    ///
    /// When this has returned, the caller's closure is not called. Without another caller, the load is cancelled, and nothing
    /// is decoded that has not begun to be.
    public func cancel() { leave() }

    /// Changes the priority, for example of an image whose cell has become visible; a prefetch becomes an ordinary load.
    ///
    /// The load has the highest priority of its callers. An image that waits, and whose priority
    /// changes, queues as if it were new.
    public func setPriority(_ priority: RequestPriority) { setRank(ImageRank(priority)) }
}

extension ImageReceipt: RedactedDescription {
    /// The type.
    public nonisolated var description: String { "ImageReceipt" }
}
