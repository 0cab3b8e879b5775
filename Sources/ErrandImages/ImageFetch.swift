import Errand

/// One load of an image, for all callers that have asked for it.
@MainActor final class ImageFetch<Image: Sendable> {
    /// How far it is; each change goes down this list.
    enum State {
        case waiting
        /// Its load begins, and has no ID yet.
        case starting
        case loading(RequestID)
        /// The images that its callers have asked for are being decoded.
        case decoding(ImageContent)
        case ended
    }

    let source: ImageSource
    let request: ImageRequest
    /// In which it was asked for.
    let session: UserSession
    var state = State.waiting
    /// Grows from image to image; a new one with each change of its rank while it waits.
    var ticket = 0
    /// Of a load that looks for a stored response first.
    var gate: ImageGate?
    /// Its image is no longer the newest one.
    var isOutdated = false
    /// Its image is to replace those in memory, for all targets.
    var isReplacement = false
    /// Removes what is stored of its response; `nil` if nothing is.
    var forget: (@Sendable () -> Void)?
    private(set) var callers: [Int: ImageCaller<Image>] = [:]
    private var ranks = Array(repeating: 0, count: ImageRank.allCases.count)
    var decodings: [ImageTarget: Task<Void, Never>] = [:]
    /// The delegate of its request, which does not retain it.
    var wait: ImageWait?

    init(_ request: ImageRequest, _ source: ImageSource, in session: UserSession) {
        (self.request, self.source, self.session) = (request, source, session)
    }

    /// Whether nothing of its image has been requested or found.
    var isWaiting: Bool { if case .waiting = state { true } else { gate?.isClosed == true } }

    /// The highest of its callers.
    var rank: ImageRank { ranks.lastIndex { $0 > 0 }.flatMap(ImageRank.init) ?? .prefetch }

    func add(_ caller: ImageCaller<Image>) {
        callers[caller.number] = caller
        ranks[caller.rank.rawValue] += 1
        caller.fetch = self
    }

    func remove(_ caller: ImageCaller<Image>) {
        guard callers.removeValue(forKey: caller.number) != nil else { return }
        ranks[caller.rank.rawValue] -= 1
        caller.fetch = nil
        guard let decoding = decodings[caller.target], !callers.values.contains(where: { $0.target == caller.target })
        else { return }
        decoding.cancel()
        decodings[caller.target] = nil
    }

    func setRank(_ rank: ImageRank, of caller: ImageCaller<Image>) {
        ranks[caller.rank.rawValue] -= 1
        ranks[rank.rawValue] += 1
        caller.rank = rank
    }

    /// Removes the callers, of one target or of all, oldest first.
    func removeCallers(of target: ImageTarget? = nil) -> [ImageCaller<Image>] {
        let removed = callers.values.filter { target == nil || $0.target == target }.sorted { $0.number < $1.number }
        removed.forEach(remove)
        return removed
    }
}

/// Reports when a load begins to wait for a retry, and when it goes on; its endings go to a closure.
@MainActor final class ImageWait: APIManagerCallbackDelegate {
    private let didChange: (_ isWaiting: Bool) -> Void

    init(didChange: @escaping (_ isWaiting: Bool) -> Void) { self.didChange = didChange }

    func managerCallAPI(_ request: BaseAPIRequest, isNow activity: LoadActivity) {
        switch activity {
        // Others would wait for these as well.
        case .waiting(.login, _), .waiting(.network, _): break
        case .waiting: didChange(true)
        default: didChange(false)
        }
    }
    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {}
    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {}
}

/// One caller; its closure is called once, or never after a cancel.
@MainActor final class ImageCaller<Image: Sendable> {
    /// Grows from caller to caller.
    let number: Int
    let target: ImageTarget
    var rank: ImageRank
    private weak var loader: ImageLoader<Image>?
    weak var fetch: ImageFetch<Image>?
    /// `nil` for a prefetch.
    var completion: (@MainActor (Result<Image, APIError>) -> Void)?
    private let scope = LoadScope()

    init(_ number: Int, _ target: ImageTarget, _ rank: ImageRank, of loader: ImageLoader<Image>) {
        (self.number, self.target, self.rank, self.loader) = (number, target, rank, loader)
    }

    func end(with result: Result<Image, APIError>) {
        if let completion = leave() { scope.run { completion(result) } }
    }

    /// Takes the closure out, which is then the caller's to call.
    @discardableResult
    func leave() -> (@MainActor (Result<Image, APIError>) -> Void)? { exchange(&completion, with: nil) }

    /// For a task that is cancelled: the closure is called.
    func cancelWaiting() {
        let completion = leave()
        loader?.leave([self])
        completion?(.failure(APIError(.cancelled)))
    }
}
