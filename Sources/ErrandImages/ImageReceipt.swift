public import Errand

/// What one caller of an ``ImageLoader`` has asked for.
///
/// The receipt is of this caller alone: others that have asked for the same image still receive it. Releasing a receipt changes
/// nothing.
@MainActor public struct ImageReceipt {
    private let owner: any ImageReceiptOwner

    init<Image>(_ callers: [ImageCaller<Image>], of loader: ImageLoader<Image>) {
        owner = ImageCallers(callers: callers, loader: loader)
    }

    /// Ends the caller's interest; does nothing when its image has been delivered.
    ///
    /// When this has returned, the caller's closure is not called. Without another caller, the load is cancelled, and nothing
    /// is decoded that has not begun to be.
    public func cancel() { owner.cancel() }

    /// Changes the priority, for example of an image whose cell has become visible; a prefetch becomes an ordinary load.
    ///
    /// The load has the highest priority of its callers. An image that waits queues as if it were new.
    public func setPriority(_ priority: RequestPriority) { owner.setRank(ImageRank(priority)) }
}

extension ImageReceipt: RedactedDescription {
    /// The type.
    public nonisolated var description: String { "ImageReceipt" }
}

/// The callers of a receipt, whatever the type of the image is.
@MainActor private protocol ImageReceiptOwner {
    func cancel()
    func setRank(_ rank: ImageRank)
}

private struct ImageCallers<Image: Sendable>: ImageReceiptOwner {
    let callers: [ImageCaller<Image>]
    weak var loader: ImageLoader<Image>?

    func cancel() {
        for caller in callers { caller.leave() }
        loader?.leave(callers)
    }

    func setRank(_ rank: ImageRank) { loader?.setRank(rank, of: callers) }
}

extension ImageRank {
    init(_ priority: RequestPriority) {
        self =
            switch priority {
            case .background: .background
            case .normal: .normal
            case .userInitiated: .userInitiated
            }
    }

    /// In the queue of the proxy.
    var priority: RequestPriority {
        switch self {
        case .prefetch, .background: .background
        case .normal: .normal
        case .userInitiated: .userInitiated
        }
    }
}
