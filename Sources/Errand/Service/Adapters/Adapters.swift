public import Foundation

/// The adapters of a service or of a request, which change what each send of a load sends and receives.
///
/// Those of ``APIService/adapters`` are called in their order, then those of ``APIRequestOptions/adapters``, at every send, so
/// also after a relogin and before a retry, in the task of the load, which a cancel of the load cancels;
/// ``APIEnvironment/current`` is the environment of the load. Like ``APIService/commonHeaders``, they must not wait for a load of
/// the same proxy: the time of ``params`` and ``request`` counts against ``QueueLimits``, and not against ``APIService/timeout``.
///
/// None are called for ``APIProxy/send(_:progress:)``, and neither ``params`` nor ``request`` for a link from the server to
/// another origin (``LinkStrategy/allowedOrigins``).
public struct Adapters: Sendable {
    /// Change the merged parameters before they are encoded: ``APIService/commonParams``, those of the load, and those that a list
    /// adds for a page; `nil` for none.
    ///
    /// A `{name}` of the path is filled from what they leave. Not for ``APIProxy/send(_:to:progress:)``.
    public var params: [Adapter<APIParams?>]
    /// Change each request last of all, for instance to sign it.
    ///
    /// It has its headers and its body, but not yet its cookies. Redirects are not adapted. A load with
    /// ``APIRequestOptions/coalescesIdentical`` is adapted before it queues, and shares an exchange only with loads that were
    /// adapted to the very same request. What makes each request different, such as a nonce, leaves nothing to share.
    public var request: [Adapter<HTTPRequest>]
    /// Change each response, for instance to verify and decrypt it.
    ///
    /// Called after redirects, for a response with any status, before it decides about a relogin or a retry, and before the
    /// envelope is read. A response that is stored in a file has its ``APIResponse/file``, and no body. Loads that share an
    /// exchange have their response adapted one by one. Also for a response of another origin, to which a link of the server or a
    /// redirect leads, so that no response evades a verification: ``APIResponse/url`` is where it is from. The load has no place in
    /// the queue then.
    public var response: [Adapter<APIResponse>]
    /// Change the JSON under the envelope, or the whole body without one, before it is decoded.
    ///
    /// Called for successes of which something is decoded: not for `Data`, `Void`, a ``DownloadedFile``, a `String` outside of an
    /// envelope, a response without content, nor for ``APIProxy/send(_:to:progress:)``; for an app's ``ResponseSerializer`` if the
    /// response is JSON. A value that is missing under the envelope's data key is not adapted, and `null` is. ``APIResponse/body``
    /// has the changed data from then on.
    public var data: [Adapter<Data>]
    /// See each failure, with or without a response; may replace it, and may have the load sent again by ``AdapterRetry``.
    ///
    /// Called when a try has failed, also because its login could not be renewed, and before ``RetryPolicy`` decides about what
    /// they leave. An error that one of them throws replaces the failure for the next ones. One more ``AdapterRetry`` of the same
    /// load is ignored, so that the failure ends it. Not called for a load that is cancelled, that fails before its turn, that
    /// its deadline ends, or whose response a validator refuses; nor for a failure that a relogin repairs, nor for the status of
    /// ``APIProxy/send(_:to:progress:)``, which is no failure there.
    public var failure: [Adapter<APIError>]

    /// Creates adapters, none by default.
    public init(
        params: [Adapter<APIParams?>] = [],
        request: [Adapter<HTTPRequest>] = [],
        response: [Adapter<APIResponse>] = [],
        data: [Adapter<Data>] = [],
        failure: [Adapter<APIError>] = []
    ) {
        (self.params, self.request, self.response) = (params, request, response)
        (self.data, self.failure) = (data, failure)
    }

    var isEmpty: Bool { params.isEmpty && request.isEmpty && !adaptsResponses && failure.isEmpty }

    /// Whether some of them change what has arrived.
    var adaptsResponses: Bool { !response.isEmpty || !data.isEmpty }

    mutating func append(_ other: Adapters) {
        params += other.params
        request += other.request
        response += other.response
        data += other.data
        failure += other.failure
    }
}
