public import Errand
import Foundation

/// Loads images: each is one request of the proxy, with its login, cookies, cache, retries and monitors.
///
/// ```swift
/// let images = ImageLoader(service: shop)
/// let receipt = images.load(ImageRequest(goods.picture)) { result in … }
/// receipt.cancel()
/// ```
///
/// Use one loader for the whole app, because each has images of its own. It continues its loads when it is released.
///
/// However many callers ask for an image, it is loaded once; each caller has a receipt that cancels only its own interest.
/// Images are kept in a ``memoryCache``, and their responses in the cache of the proxy. When a session of the
/// service has ended or begun, for example with a logout, what is in memory is removed with the next use of the loader.
///
/// The URL of an image may have another origin than the service: then it is loaded without the service's headers, adapters and
/// login, with the cookies of its host.
@MainActor public final class ImageLoader<Image: Sendable> {
    /// Sends the requests.
    public let proxy: APIProxy
    /// The backend; `nil` is the proxy's default service at the time of a load.
    public let service: APIService?
    /// The images in memory.
    public let memoryCache: ImageMemoryCache<Image>
    /// The options of each load, except its priority.
    public var options: APIRequestOptions
    /// The limits of an image.
    public let limits: ImageLimits
    /// The order of the images that wait; first in first out by default.
    public var order: ImageOrder
    /// How many images are loaded at a time; at most half of them begin as prefetches, but at least one.
    ///
    /// With a cache, as many more are looked for there, so that what is stored waits for no download, unless 256 others wait to be
    /// sent, or 64 for a prefetch; with `userInitiated` never. Of one URL, the images of several targets may be decoded at a time.
    public var maxConcurrentLoads: Int { sends.count }
    /// The number of loads that have begun.
    public internal(set) var fetchCount = 0
    /// The number of images that were found in memory.
    public private(set) var hitCount = 0
    let decoder: ImageDecoder<Image>
    var fetches: [ImageSource: ImageFetch<Image>] = [:]
    /// All that have not ended, also those that another one of the same source has replaced.
    var active: [ObjectIdentifier: ImageFetch<Image>] = [:]
    /// Of those that look for a stored response, until they have been decoded or have found none.
    var lookups: ImagePlaces<Image>
    /// Of those that are sent, until they have been decoded.
    var sends: ImagePlaces<Image>
    private(set) var session: UserSession
    private var callerCount = 0
    var ticketCount = 0
    var otherServices: [String: APIService] = [:]

    /// Creates a loader.
    ///
    /// - Parameters:
    ///   - proxy: Sends the requests; `APIProxy.shared` by default.
    ///   - service: The backend; `nil` is the proxy's default service at the time of a load.
    ///   - decoder: Makes the images; ``ImageDecoder/system`` by default.
    ///   - memoryCapacity: The capacity of the ``memoryCache`` in bytes; 100 MB by default.
    ///   - options: The options of each load, except `priority` and `presentsErrors`: an `ErrorPresenter` shows no errors of
    ///     images.
    ///   - limits: Of each image; the `limits` of the service apply as well.
    ///   - order: The order of the images that wait.
    ///   - maxConcurrentLoads: How many images are loaded at a time, at least 1.
    public init(
        proxy: APIProxy? = nil,
        service: APIService? = nil,
        decoder: ImageDecoder<Image> = ImageDecoder<SystemImage>.system,
        memoryCapacity: Int = 100_000_000,
        options: APIRequestOptions = APIRequestOptions(),
        limits: ImageLimits = ImageLimits(),
        order: ImageOrder = .firstInFirstOut,
        maxConcurrentLoads: Int = 4
    ) {
        let proxy = proxy ?? .shared
        (self.proxy, self.service, self.decoder) = (proxy, service, decoder)
        (self.options, self.limits, self.order) = (options, limits, order)
        memoryCache = ImageMemoryCache(capacity: memoryCapacity)
        (lookups, sends) = (ImagePlaces(max(1, maxConcurrentLoads)), ImagePlaces(max(1, maxConcurrentLoads)))
        session = proxy.userSession(of: service)
    }

    // MARK: Loading

    /// Loads an image, or finds it in memory.
    ///
    /// - Parameters:
    ///   - request: The image.
    ///   - priority: The priority among the images that wait; `normal` by default.
    ///   - completion: Called once, on the main actor, after this call has returned, with the image or the error; not called
    ///     after the receipt was cancelled.
    /// - Returns: The receipt of this caller.
    @discardableResult
    public func load(
        _ request: ImageRequest,
        priority: RequestPriority = .normal,
        completion: @escaping @MainActor (Result<Image, APIError>) -> Void
    ) -> ImageReceipt {
        let caller = makeCaller(of: request, ImageRank(priority))
        caller.completion = completion
        add(caller, to: request)
        return ImageReceipt([caller], of: self)
    }

    /// Loads an image, or returns it from memory.
    ///
    /// Cancelling the task is as ``ImageReceipt/cancel()``, and throws `cancelled`.
    ///
    /// - Parameters:
    ///   - request: The image.
    ///   - priority: The priority among the images that wait; `normal` by default.
    /// - Returns: The image.
    /// - Throws: Why the load failed; `cancelled` also when the user has signed out before this call continues.
    public func image(
        for request: ImageRequest,
        priority: RequestPriority = .normal
    ) async throws(APIError) -> Image {
        if let image = cachedImage(for: request) { return image }
        guard !Task.isCancelled else { throw APIError(.cancelled) }
        let (caller, session) = (makeCaller(of: request, ImageRank(priority)), session)
        let image = try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                caller.completion = { continuation.resume(returning: $0) }
                add(caller, to: request)
            }
        } onCancel: {
            Task { @MainActor in caller.cancelWaiting() }
        }.get()
        // The user may have signed out before this call goes on.
        guard !session.hasEnded else { throw APIError(.cancelled) }
        return image
    }

    /// Returns an image that is in memory, without loading it.
    public func cachedImage(for request: ImageRequest) -> Image? {
        updateSession()
        guard let image = image(inMemory: request) else { return nil }
        hitCount += 1
        return image
    }

    /// Keeps an image in memory instead of the one of a request, for example one that the user has just uploaded.
    ///
    /// What the proxy's cache has stored remains; a load with `CachePolicy.reload` replaces what the policy of ``options`` has
    /// stored.
    ///
    /// - Parameters:
    ///   - image: The image; `nil` only removes the one of the request, which is then loaded again. What loads of its URL that
    ///     have begun deliver is not kept.
    ///   - request: The request, with its target.
    public func setCachedImage(_ image: Image?, for request: ImageRequest) {
        updateSession()
        outdateFetches(of: ImageSource(request))
        let key = ImageKey(ImageSource(request), request.target)
        if let image {
            memoryCache.insert(image, bytes: decoder.bytes(image), for: key)
            endWaiting(for: request, with: image)
        } else {
            memoryCache.remove(key)
        }
    }

    /// Loads images that will be needed soon, when there are places for them that no other load waits for.
    ///
    /// - Returns: The receipt of all of them. A call of ``load(_:priority:completion:)`` for one of them joins its load, which
    ///   then goes on with the priority of that call.
    @discardableResult
    public func prefetch(_ requests: [ImageRequest]) -> ImageReceipt {
        updateSession()
        let callers = requests.filter { image(inMemory: $0) == nil }.map { request in
            let caller = makeCaller(of: request, .prefetch)
            add(caller, to: request)
            return caller
        }
        return ImageReceipt(callers, of: self)
    }

    /// Ends all loads, and all that wait; their callers receive `cancelled`.
    public func cancelAll() {
        // First, so that none is begun in the place of another.
        lookups.removeWaiting()
        sends.removeWaiting()
        for fetch in active.values { end(fetch, with: .failure(APIError(.cancelled))) }
    }

    private func image(inMemory request: ImageRequest) -> Image? {
        guard (request.cachePolicy ?? options.cachePolicy) != .reload else { return nil }
        return memoryCache[ImageKey(ImageSource(request), request.target)]
    }

    private func makeCaller(of request: ImageRequest, _ rank: ImageRank) -> ImageCaller<Image> {
        callerCount += 1
        return ImageCaller(callerCount, request.target, rank, of: self)
    }

    private func add(_ caller: ImageCaller<Image>, to request: ImageRequest) {
        if let image = cachedImage(for: request) {
            proxy.deliver { [self, session] in end(caller, with: .success(image), of: session) }
            return
        }
        do throws(APIError) {
            try decoder.check(request.target)
            try request.checkScheme()
        } catch {
            proxy.deliver { [error] in caller.end(with: .failure(error)) }
            return
        }
        let fetch = fetch(for: request)
        let former = fetch.callers.isEmpty ? nil : fetch.rank
        fetch.add(caller)
        if case .decoding(let content) = fetch.state { decode(content, for: request.target, of: fetch) }
        guard fetch.rank != former else { return }
        rankDidChange(of: fetch)
        startWaiting()
    }

    private func fetch(for request: ImageRequest) -> ImageFetch<Image> {
        let source = ImageSource(request, isInRelogin: APIProxy.isInRelogin)
        if let fetch = fetches[source], fetch.session == session {
            // One that was cancelled elsewhere has not been told yet.
            guard case .loading(let id) = fetch.state, !proxy.isActive(id) else { return fetch }
        }
        let fetch = ImageFetch<Image>(request, source, in: session)
        fetches[source] = fetch
        active[ObjectIdentifier(fetch)] = fetch
        return fetch
    }

    /// What has begun to load is neither kept nor for later callers.
    func outdateFetches(of source: ImageSource, except newest: ImageFetch<Image>? = nil) {
        for fetch in active.values where fetch !== newest && fetch.source.hasSameImage(as: source) {
            if fetch.isWaiting { continue }
            fetch.isOutdated = true
            if fetches[fetch.source] === fetch { fetches[fetch.source] = nil }
        }
    }

    // MARK: Callers

    /// Ends what waits for an image that is in memory meanwhile, but not for one that is to be loaded in any case.
    private func endWaiting(for request: ImageRequest, with image: Image) {
        let source = ImageSource(request)
        for fetch in active.values where fetch.source.hasSameImage(as: source) {
            guard fetch.isWaiting, !isReload(fetch) else { continue }
            let former = fetch.rank
            let callers = fetch.removeCallers(of: request.target)
            proxy.deliver { for caller in callers { self.end(caller, with: .success(image), of: fetch.session) } }
            if fetch.callers.isEmpty { end(fetch) } else if fetch.rank != former { rankDidChange(of: fetch) }
        }
    }

    func leave(_ callers: [ImageCaller<Image>]) {
        for caller in callers {
            guard let fetch = caller.fetch else { continue }
            let former = fetch.rank
            fetch.remove(caller)
            if fetch.callers.isEmpty { end(fetch) } else if fetch.rank != former { rankDidChange(of: fetch) }
        }
        // In a later turn, so that none is begun whose receipt is cancelled next.
        proxy.deliver { self.startWaiting() }
    }

    func setRank(_ rank: ImageRank, of callers: [ImageCaller<Image>]) {
        for caller in callers {
            guard let fetch = caller.fetch else { continue }
            let former = fetch.rank
            fetch.setRank(rank, of: caller)
            if fetch.rank != former { rankDidChange(of: fetch) }
        }
        startWaiting()
    }

    func rankDidChange(of fetch: ImageFetch<Image>) {
        switch fetch.state {
        case .waiting: if fetch.source.isInRelogin { start(fetch) } else { wait(fetch) }
        case .loading(let id):
            proxy.setPriority(fetch.rank.priority, of: id)
            if fetch.isWaiting { wait(fetch) }
        case .starting, .decoding, .ended: break
        }
    }

    /// Ends a load of which no caller is left, or whose callers all receive the same.
    func end(_ fetch: ImageFetch<Image>, with result: Result<Image, APIError>? = nil) {
        guard active.removeValue(forKey: ObjectIdentifier(fetch)) != nil else { return }
        let state = exchange(&fetch.state, with: .ended)
        lookups.remove(fetch)
        sends.remove(fetch)
        if fetches[fetch.source] === fetch { fetches[fetch.source] = nil }
        let callers = fetch.removeCallers()
        if case .loading(let id) = state { proxy.cancelRequest(id) }
        fetch.gate?.open()
        if let result {
            proxy.deliver { for caller in callers { caller.end(with: result) } }
        }
    }

    // MARK: Sessions

    /// The user may have signed out meanwhile, also in the closure of another caller.
    func end(_ caller: ImageCaller<Image>, with result: Result<Image, APIError>, of session: UserSession) {
        caller.end(with: session.hasEnded ? .failure(APIError(.cancelled)) : result)
    }

    /// Removes the images of a user who has signed out; what waits ends with the loads of that user.
    func updateSession() {
        let current = proxy.userSession(of: service)
        guard current != session else { return }
        let former = exchange(&session, with: current)
        memoryCache.removeAll()
        if former.hasEnded || !current.isOfSameLogin(as: former) { cancelAll() }
    }
}

extension ImageLoader: RedactedDescription {
    /// The type.
    public nonisolated var description: String { "ImageLoader<\(Image.self)>" }
}
