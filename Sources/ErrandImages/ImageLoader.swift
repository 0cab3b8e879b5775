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
    /// With a cache, as many more are looked for there, so that what is stored waits for no download. Of one URL, the images of
    /// several targets may be decoded at a time.
    public var maxConcurrentLoads: Int { sends.count }
    /// The number of loads that have begun.
    public private(set) var fetchCount = 0
    /// The number of images that were found in memory.
    public private(set) var hitCount = 0
    private let decoder: ImageDecoder<Image>
    private var fetches: [ImageSource: ImageFetch<Image>] = [:]
    /// All that have not ended, also those that another one of the same source has replaced.
    private var active: [ObjectIdentifier: ImageFetch<Image>] = [:]
    /// Of those that look for a stored response, until they have been decoded or have found none.
    private var lookups: ImagePlaces<Image>
    /// Of those that are sent, until they have been decoded.
    private var sends: ImagePlaces<Image>
    private var session: UserSession
    private var callerCount = 0
    private var ticketCount = 0
    private var otherServices: [String: APIService] = [:]

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
    /// - Throws: Why the load failed.
    public func image(
        for request: ImageRequest,
        priority: RequestPriority = .normal
    ) async throws(APIError) -> Image {
        if let image = cachedImage(for: request) { return image }
        guard !Task.isCancelled else { throw APIError(.cancelled) }
        let caller = makeCaller(of: request, ImageRank(priority))
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                caller.completion = { continuation.resume(returning: $0) }
                add(caller, to: request)
            }
        } onCancel: {
            Task { @MainActor in caller.cancelWaiting() }
        }.get()
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
    private func outdateFetches(of source: ImageSource, except newest: ImageFetch<Image>? = nil) {
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
            let isReload = (fetch.request.cachePolicy ?? options.cachePolicy) == .reload
            guard fetch.isWaiting, !isReload else { continue }
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

    private func rankDidChange(of fetch: ImageFetch<Image>) {
        switch fetch.state {
        case .waiting: if fetch.source.isInRelogin { start(fetch) } else { wait(fetch) }
        case .loading(let id):
            proxy.setPriority(fetch.rank.priority, of: id)
            if fetch.isWaiting { wait(fetch) }
        case .starting, .decoding, .ended: break
        }
    }

    /// Ends a load of which no caller is left, or whose callers all receive the same.
    private func end(_ fetch: ImageFetch<Image>, with result: Result<Image, APIError>? = nil) {
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

    // MARK: Places

    private func policy(of fetch: ImageFetch<Image>) -> CachePolicy {
        let policy = fetch.request.cachePolicy ?? options.cachePolicy
        // Nobody shows an image before the ending.
        return policy == .first ? .fallback : policy
    }

    /// Has an image wait for the place that it needs next.
    private func wait(_ fetch: ImageFetch<Image>) {
        ticketCount += 1
        fetch.ticket = ticketCount
        if case .waiting = fetch.state, looksFirst(fetch) { lookups.insert(fetch) } else { sends.insert(fetch) }
    }

    private func looksFirst(_ fetch: ImageFetch<Image>) -> Bool { proxy.cache != nil && policy(of: fetch).readsFirst }

    private func startWaiting() {
        updateSession()
        // Each that waits to be sent has a load, which takes memory.
        while let fetch = lookups.next(order, mayPrefetch: sends.waitingCount < 64) {
            // The options may have changed.
            guard looksFirst(fetch) else {
                lookups.remove(fetch)
                sends.insert(fetch)
                continue
            }
            fetch.gate = ImageGate { [weak self, weak fetch] in
                guard let self, let fetch, active[ObjectIdentifier(fetch)] != nil else { return false }
                // Not stored: it waits until it may be sent.
                lookups.remove(fetch)
                sends.insert(fetch)
                startWaiting()
                return true
            }
            start(fetch)
        }
        while let fetch = sends.next(order) {
            if let gate = fetch.gate { gate.open() } else { start(fetch) }
        }
    }

    private func start(_ fetch: ImageFetch<Image>) {
        fetchCount += 1
        let address = withScheme(fetch.source.url)
        let other = otherService(for: URL(string: address) ?? fetch.request.url)
        var options = options
        options.priority = fetch.rank.priority
        options.presentsErrors = false
        options.reportsActivity = true
        options.cachePolicy = policy(of: fetch)
        fetch.isReplacement = options.cachePolicy == .reload
        // It is shared here already, and one that is shared there is not checked while it arrives.
        options.coalescesIdentical = false
        if other != nil { (options.adapters, options.envelope) = (Adapters(), nil) }
        fetch.wait = ImageWait { [weak self, weak fetch] isWaiting in
            if let self, let fetch { setWaiting(isWaiting, fetch) }
        }
        let request = APIRequest<ImageContent>(
            address,
            headers: fetch.request.headers,
            responseSerializer: .image(limits: limits),
            service: other ?? service,
            options: options,
            delegate: fetch.wait,
            proxy: proxy
        )
        if let gate = fetch.gate { request.setGate(gate) }
        fetch.state = .starting
        // Retains the loader, whose callers wait.
        let begin = {
            request.loadData {
                fetch.forget = request.rawResponse?.forget
                self.didLoad(fetch, $0)
            }
        }
        // The load whose ending has freed the place may be part of a relogin.
        let id = fetch.source.isInRelogin ? begin() : APIProxy.outsideRelogin(begin)
        // A monitor may have ended it.
        guard case .starting = fetch.state else { return _ = proxy.cancelRequest(id) }
        fetch.state = .loading(id)
        if fetch.rank.priority != options.priority { rankDidChange(of: fetch) }
    }

    /// Of a load that waits for a retry, and goes on.
    private func setWaiting(_ isWaiting: Bool, _ fetch: ImageFetch<Image>) {
        guard case .loading = fetch.state else { return }
        guard isWaiting else { return sends.resume(fetch) }
        sends.postpone(fetch)
        startWaiting()
    }

    /// An address that begins with a host has the scheme of the service (RFC 3986 section 5.2.2).
    private func withScheme(_ address: String) -> String {
        guard address.hasPrefix("//"), let scheme = (service ?? proxy.defaultService)?.forNewLoad.baseURL.scheme else {
            return address
        }
        return "\(scheme):\(address)"
    }

    /// The service of another origin than the loader's, with nothing that only that may receive.
    private func otherService(for url: URL) -> APIService? {
        guard url.host != nil, let own = (service ?? proxy.defaultService)?.forNewLoad,
            !url.hasSameOrigin(as: own.baseURL),
            let origin = URL(string: "/", relativeTo: url)?.absoluteURL
        else { return nil }
        // Its cookies are those of the environment, and its settings are the current ones.
        let environment = APIEnvironment(own.environment.name, baseURL: origin)
        let key = "\(environment.name) \(origin.absoluteString)"
        var other = otherServices[key] ?? APIService(environment: environment)
        (other.envelope, other.failureReader, other.loginExpiredStatuses) = (nil, nil, [])
        (other.timeout, other.deadline, other.limits) = (own.timeout, own.deadline, own.limits)
        (other.retryPolicy, other.redirectPolicy) = (own.retryPolicy, own.redirectPolicy)
        (other.cookies, other.errorMessages, other.monitors) = (own.cookies, own.errorMessages, own.monitors)
        if otherServices.count > 100 { otherServices = [:] }
        otherServices[key] = other
        return other
    }

    private func didLoad(_ fetch: ImageFetch<Image>, _ result: Result<ImageContent, APIError>) {
        updateSession()
        guard case .loading = fetch.state else { return }
        switch result {
        case .failure(let error):
            end(fetch, with: .failure(error))
            startWaiting()
        case .success(let content):
            fetch.state = .decoding(content)
            for target in Set(fetch.callers.values.map(\.target)) { decode(content, for: target, of: fetch) }
        }
    }

    // MARK: Decoding

    private func decode(_ content: ImageContent, for target: ImageTarget, of fetch: ImageFetch<Image>) {
        guard fetch.decodings[target] == nil else { return }
        let decoding = Task {
            let result: Result<Image, APIError>
            do throws(APIError) {
                // Otherwise what is stored could never be decoded.
                result = .success(try await decoder.image(of: content, for: target, isDamaged: fetch.forget))
            } catch {
                result = .failure(error)
            }
            // Then another one may decode for the same target.
            guard !Task.isCancelled else { return }
            didDecode(target, of: fetch, result)
        }
        fetch.decodings[target] = decoding
    }

    private func didDecode(_ target: ImageTarget, of fetch: ImageFetch<Image>, _ result: Result<Image, APIError>) {
        updateSession()
        guard active[ObjectIdentifier(fetch)] != nil else { return }
        if case .success(let image) = result, fetch.session == session, !fetch.isOutdated {
            if fetch.isReplacement {
                fetch.isReplacement = false
                memoryCache.removeAll(of: fetch.source)
                outdateFetches(of: fetch.source, except: fetch)
            }
            memoryCache.insert(image, bytes: decoder.bytes(image), for: ImageKey(fetch.source, target))
        }
        fetch.decodings[target] = nil
        let callers = fetch.removeCallers(of: target)
        if fetch.callers.isEmpty { end(fetch) }
        startWaiting()
        for caller in callers { end(caller, with: result, of: fetch.session) }
    }

    // MARK: Sessions

    /// The user may have signed out meanwhile, also in the closure of another caller.
    private func end(_ caller: ImageCaller<Image>, with result: Result<Image, APIError>, of session: UserSession) {
        caller.end(with: session.hasEnded ? .failure(APIError(.cancelled)) : result)
    }

    /// Removes the images of a user who has signed out; what waits ends with the loads of that user.
    private func updateSession() {
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
