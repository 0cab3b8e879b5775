import Errand
import Foundation

/// How an image gets its place, and is requested and decoded.
extension ImageLoader {
    private func policy(of fetch: ImageFetch<Image>) -> CachePolicy {
        let policy = fetch.request.cachePolicy ?? options.cachePolicy
        let isReloadOfRule = policy == .reload && options.cachePolicy.isRule
        let rule = isReloadOfRule ? options.cachePolicy : policy
        // Nobody shows an image before the ending.
        return rule == .first ? .fallback : rule
    }

    func isReload(_ fetch: ImageFetch<Image>) -> Bool {
        (fetch.request.cachePolicy ?? options.cachePolicy) == .reload
    }

    /// Has an image wait for the place that it needs next.
    func wait(_ fetch: ImageFetch<Image>) {
        ticketCount += 1
        fetch.ticket = ticketCount
        if case .waiting = fetch.state, looksFirst(fetch) { lookups.insert(fetch) } else { sends.insert(fetch) }
    }

    private func looksFirst(_ fetch: ImageFetch<Image>) -> Bool {
        proxy.cache != nil && policy(of: fetch).readsFirst && !isReload(fetch)
    }

    func startWaiting() {
        updateSession()
        while let fetch = lookups.next(order, from: lowestRankToLookFor) {
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
                startSending()
                // Not in the task of this load, whose priority the others would have.
                proxy.deliver { [weak self] in self?.startWaiting() }
                return true
            }
            start(fetch)
        }
        startSending()
    }

    /// Each that waits to be sent has a load, which takes memory.
    private var lowestRankToLookFor: ImageRank {
        switch sends.waitingCount {
        case ..<64: .prefetch
        case ..<256: .background
        default: .userInitiated
        }
    }

    private func startSending() {
        while let fetch = sends.next(order) {
            if let gate = fetch.gate { gate.open() } else { start(fetch) }
        }
    }

    func start(_ fetch: ImageFetch<Image>) {
        fetchCount += 1
        let address = withScheme(fetch.source.url)
        let other = otherService(for: URL(string: address) ?? fetch.request.url)
        var options = options
        options.priority = fetch.rank.priority
        options.presentsErrors = false
        options.reportsActivity = true
        options.cachePolicy = policy(of: fetch)
        fetch.isReplacement = isReload(fetch)
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
        if isReload(fetch) { request.reloadStored() }
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

    func decode(_ content: ImageContent, for target: ImageTarget, of fetch: ImageFetch<Image>) {
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
}
