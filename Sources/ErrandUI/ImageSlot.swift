import Errand
import ErrandImages

/// What a view shows of an ``ImageSlot``.
package enum ImageSlotContent<Image: Sendable>: Sendable {
    /// There is no image yet, or no request.
    case placeholder
    case image(Image, isFromMemory: Bool)
    case failure(APIError)
}

/// The image that one view shows: that of its newest request, whatever the loads of former ones end with.
@MainActor package final class ImageSlot<Image: Sendable> {
    package typealias Receiver = @MainActor (ImageSlotContent<Image>) -> Void

    private var load: (receipt: ImageReceipt, receive: Receiver)?

    package init() {}

    deinit { if let receipt = load?.receipt { Task { @MainActor in receipt.cancel() } } }

    /// Shows the image of a request, or the placeholder for `nil`, and cancels the load of a former request.
    ///
    /// A request that is being loaded is not loaded again; its image is for the new receiver.
    ///
    /// The receiver is called before this returns, with an image from memory or else the placeholder; in the latter case once more
    /// when the load ends, unless it is cancelled, here or elsewhere. It may call the slot, and must not retain it.
    package func show(
        _ request: ImageRequest?,
        from loader: ImageLoader<Image>,
        priority: RequestPriority = .normal,
        receive: @escaping Receiver
    ) {
        let former = exchange(&load, with: nil)?.receipt
        if let request, let image = loader.cachedImage(for: request) {
            former?.cancel()
            return receive(.image(image, isFromMemory: true))
        }
        if let request {
            let receipt = loader.load(request, priority: priority) { [weak self] in self?.didLoad($0) }
            load = (receipt, receive)
        }
        // Afterwards, so that an image that is being loaded is not loaded again.
        former?.cancel()
        receive(.placeholder)
    }

    /// Cancels the load, if there is one; the view keeps what it shows.
    package func cancel() {
        load?.receipt.cancel()
        load = nil
    }

    private func didLoad(_ result: Result<Image, APIError>) {
        let receive = load?.receive
        // Before the call, which may show another request.
        load = nil
        switch result {
        case .success(let image): receive?(.image(image, isFromMemory: false))
        case .failure(let error): if error.type != .cancelled { receive?(.failure(error)) }
        }
    }
}
