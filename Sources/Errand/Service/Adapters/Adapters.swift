public import Foundation

/// The adapters of a service or a request, which change what each attempt of a load sends and receives.
///
/// For each attempt of a load, also after a relogin and before a retry, the adapters of ``APIService/adapters`` are called in
/// order, then those of ``APIRequestOptions/adapters``. They run in the task of the load, which is cancelled with the load;
/// ``APIEnvironment/current`` is the environment of the load. Like ``APIService/commonHeaders``, adapters must not wait for a
/// load of the same proxy. While ``params`` and ``request`` adapters run, the load counts against ``QueueLimits``, but
/// ``APIService/timeout`` does not run.
///
/// No adapters are called for ``APIProxy/send(_:progress:)``. For a link from the server to another origin
/// (``PageStrategy/allowedOrigins``), neither ``params`` nor ``request`` adapters are called.
public struct Adapters: Sendable {
    /// Change the merged parameters before they are encoded: ``APIService/commonParams``, those of the load, and those that a
    /// list adds for a page; `nil` if there are none.
    ///
    /// Each `{name}` in the path is replaced by an adapted parameter. Not called for ``APIProxy/send(_:to:progress:)``.
    public var params: [Adapter<APIParams?>]
    /// Change each request as the last step, for instance to sign it.
    ///
    /// The request has its headers and its body, but not yet its cookies. Redirects are not adapted. A load with
    /// ``APIRequestOptions/coalescesIdentical`` is adapted before it queues, and shares an exchange only if its adapted request
    /// is identical. An adapter that makes each request different, for instance with a nonce, prevents sharing.
    public var request: [Adapter<HTTPRequest>]
    /// Change each response, for instance to verify and decrypt it.
    ///
    /// Called after redirects, for a response with any status, before a relogin or a retry is decided, and before the envelope is
    /// read. A response that is stored in a file has its ``APIResponse/file`` and no body. If loads share an exchange, the
    /// response is adapted for each load separately. Also called for a response from another origin, to which a link of the
    /// server or a redirect leads, so that no response evades verification; ``APIResponse/url`` is the URL that sent it. The load
    /// has no place in the queue during the call.
    public var response: [Adapter<APIResponse>]
    /// Change the JSON under the envelope's data key, or the whole body without an envelope, before it is decoded.
    ///
    /// Called for a success whose JSON is decoded. Not called for `Data`, `Void`, a ``DownloadedFile``, a `String` outside of an
    /// envelope, a response without content, or ``APIProxy/send(_:to:progress:)``. Called for an app's ``ResponseSerializer`` if
    /// the response is JSON. A missing value under the envelope's data key is not adapted; `null` is. Afterwards,
    /// ``APIResponse/body`` contains the changed data.
    public var data: [Adapter<Data>]
    /// Receive each failure, with or without a response; may replace it, or throw ``AdapterRetry`` to have the load sent again.
    ///
    /// Called when an attempt has failed, also if its login could not be renewed, before ``RetryPolicy`` handles the resulting
    /// failure. Its ``APIError/message`` is the final text: the server's, or that of ``APIService/errorMessages``. An error
    /// that an adapter throws replaces the failure for the following adapters. A second ``AdapterRetry`` in the same load is
    /// ignored, so that the failure ends the load.
    ///
    /// Not called for a load that is cancelled, fails before its turn, exceeds its deadline, or has its response refused by a
    /// validator; nor for a failure that a relogin repairs. Not called for the status of ``APIProxy/send(_:to:progress:)``, where
    /// no status is a failure.
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
