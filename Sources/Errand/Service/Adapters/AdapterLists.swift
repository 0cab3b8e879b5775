/// The adapters of a service, or of one request.
struct AdapterLists: Sendable {
    var params: [any ParamAdapter] = []
    var request: [any RequestAdapter] = []
    var response: [any ResponseAdapter] = []
    var data: [any DataAdapter] = []

    /// Whether there are none at all.
    var isEmpty: Bool { params.isEmpty && request.isEmpty && !adaptsAnswers }

    /// Whether some of them change what has arrived.
    var adaptsAnswers: Bool { !response.isEmpty || !data.isEmpty }

    /// Adds those of `other` after these.
    mutating func append(_ other: AdapterLists) {
        params += other.params
        request += other.request
        response += other.response
        data += other.data
    }
}

extension APIService {
    /// What changes the parameters of each send, in this order, before those of the request; none by default.
    ///
    /// Called with the merged parameters: ``commonParams``, those of the load, and those that a list adds for a page. A `{name}`
    /// of the path is filled from what they leave. Called neither for ``APIProxy/send(_:to:progress:)`` nor for a link from the
    /// server to another origin (``LinkStrategy/allowedOrigins``).
    ///
    /// Adapters are called at every send, so also after a relogin and before a retry, in the task of the load, which a cancel of
    /// the load cancels; ``APIEnvironment/current`` is the environment of the load. An ``APIError`` that one throws is treated
    /// as if the exchange had failed with it. Like ``commonHeaders``, they must not wait for a load of the same proxy: the time
    /// of the parameter and request adapters counts against ``QueueLimits``, and not against ``timeout``.
    public var paramAdapters: [any ParamAdapter] {
        get { adapters.params }
        set { adapters.params = newValue }
    }

    /// What changes each request last of all, in this order, before those of the request, for instance to sign it; none by default.
    ///
    /// ```swift
    /// service.requestAdapters = [.adapting { request, context in request.headers["X-Attempt"] = "\(context.attempt)" }]
    /// ```
    ///
    /// Called when the request has its headers and its body, but not yet its cookies; not for redirects, nor for
    /// ``APIProxy/send(_:progress:)``, nor for a link from the server to another origin. Otherwise as ``paramAdapters``.
    ///
    /// A load with ``BaseAPIRequest/coalescesIdentical`` is adapted before it queues, and shares an exchange only with loads that
    /// were adapted to the very same request. What makes each request different, such as a nonce, leaves nothing to share.
    public var requestAdapters: [any RequestAdapter] {
        get { adapters.request }
        set { adapters.request = newValue }
    }

    /// What changes each answer, in this order, before those of the request, for instance to verify and decrypt it; none by default.
    ///
    /// Called after redirects, for an answer with any status, before it decides about a relogin or a retry, and before the
    /// envelope is read. An answer that is stored in a file has its ``APIResponse/file``, and no body. Loads that share an
    /// exchange have their answer adapted one by one. Also for an answer of another origin, to which a link of the server or a
    /// redirect leads, so that no answer evades a verification: ``APIResponse/url`` is where it is from. Not for
    /// ``APIProxy/send(_:progress:)``. Otherwise as ``paramAdapters``, but the load has no place in the queue then.
    public var responseAdapters: [any ResponseAdapter] {
        get { adapters.response }
        set { adapters.response = newValue }
    }

    /// What changes the JSON under the envelope before it is decoded, in this order, before those of the request; none by default.
    ///
    /// Called for successes of which something is decoded: not for `Data`, `Void`, a ``DownloadedFile``, a `String` outside of an
    /// envelope, an answer without content, nor for ``APIProxy/send(_:to:progress:)``; for an app's ``ResponseSerializer`` if the
    /// answer is JSON. A value that is missing under the envelope's data key is not adapted, and `null` is. ``APIResponse/body``
    /// has the changed data from then on. Otherwise as ``responseAdapters``.
    public var dataAdapters: [any DataAdapter] {
        get { adapters.data }
        set { adapters.data = newValue }
    }
}
