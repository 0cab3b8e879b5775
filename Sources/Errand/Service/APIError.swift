import Foundation

/// Why a load failed.
///
/// The description is safe to log: it contains no header, no parameter, and nothing of a body except the business code, which is
/// replaced by `*` unless it is a plain identifier.
public struct APIError: Error, Sendable {
    private struct Details: Sendable {
        var message: String
        // Whether the message is that of an app, or of the service's messages.
        var isWorded = false
        var hasMessageOfApp = false
        // Whether it says no more than the status of the load's own response.
        var isOfStatus = false
        // Whether a relogin has thrown it, whose server has neither granted nor refused a login.
        var isOfUndecidedLogin = false
        var reason: String?
        // What the server says; nothing for a response that is a success for it.
        var failure = ServerFailure()
        var requestID: RequestID?
        var method: HTTPMethod?
        var path: String?
        var response: APIResponse?
        var underlying: (any Error)?
    }

    // Boxed, because an asynchronous function reserves memory for each error that it may throw.
    @Boxed private var details: Details
    // The last member must not be a reference: callers that throw such an error crash the optimizer of Swift 6.3, which then
    // merges the write of the reference with one to the variable of the error (LLVM sinks both into one store).
    /// The type of the failure.
    public private(set) var type: APIErrorType

    /// A text for the user; see ``ErrorMessages``, which leave a text that an app has set as it is.
    public var message: String {
        get { details.message }
        set { (details.message, details.isWorded, details.hasMessageOfApp) = (newValue, true, true) }
    }
    /// An explanation for the developer; `nil` if the type describes the failure completely.
    public var reason: String? { details.reason }
    /// The server's business code, if the ``Envelope`` or a ``FailureReader`` found one.
    public var code: ServerCode? { details.failure.code }
    /// The server's messages for the fields of a form, by the name of the field; see ``ServerFailure/fieldMessages``.
    public var fieldMessages: [String: [String]] { details.failure.fieldMessages }
    /// The ID of the failed load; `nil` for an error that is not from a load.
    public var requestID: RequestID? { details.requestID }
    /// The method of the failed request; `nil` for an error that is not from a load.
    public var method: HTTPMethod? { details.method }
    /// The path of the failed request, with `{name}` for its parameters and without a query; `nil` for an error that is not from
    /// a load.
    public var path: String? { details.path }
    /// The response; `nil` if none was received.
    public var response: APIResponse? { details.response }
    /// The error that caused this one.
    public var underlying: (any Error)? { details.underlying }

    /// The HTTP status of the response; `nil` if none was received.
    public var status: Int? { response?.status }
    /// The durations of the phases of the last request; `nil` if nothing was sent or measured.
    public var timings: ExchangeTimings? { response?.timings ?? (underlying as? TransportError)?.timings }

    /// The text names the origins, because nothing is wrong with a connection.
    init(refusing url: URL, allowed: [URL], reason: String) {
        self.init(.security, reason: reason)
        let origins = allowed.map(\.originText).joined(separator: " and ")
        details.message = "The request to \(url.originText) was not sent: only \(origins) is allowed."
    }

    init(_ type: APIErrorType, failure: ServerFailure, response: APIResponse) {
        self.type = type
        details = Details(
            message: type.message,
            isOfStatus: type == .http,
            failure: failure,
            response: response.withStatement(failure)
        )
    }
}

extension APIError {
    /// Creates an error; for failures that an app reports as failures of a load, and for tests.
    ///
    /// - Parameters:
    ///   - type: The type of the failure.
    ///   - message: The text for the user; by default, the service's text for the error. An error with the `code` of its
    ///     `response` keeps the server's message.
    ///   - reason: An explanation for the developer; must not contain secrets.
    ///   - code: The server's business code; none by default.
    ///   - response: The response; none by default. An error without a response that a ``ResponseSerializer`` throws receives the
    ///     response that the serializer was reading.
    ///   - underlying: The error that caused this one.
    public init(
        _ type: APIErrorType,
        message: String? = nil,
        reason: String? = nil,
        code: ServerCode? = nil,
        response: APIResponse? = nil,
        underlying: (any Error)? = nil
    ) {
        self.type = type
        details = Details(
            message: message ?? type.message,
            isWorded: message != nil,
            hasMessageOfApp: message != nil,
            reason: reason,
            failure: ServerFailure(code: code),
            response: response,
            underlying: underlying
        )
    }

    /// This error as the ending of a load, with the text that `messages` have for it.
    func ended(_ id: RequestID, _ method: HTTPMethod, path: String, messages: ErrorMessages?) -> APIError {
        ofLoad(id, method, path: path).with { $0.isOfStatus = false }.worded(by: messages)
    }

    func ofLoad(_ id: RequestID, _ method: HTTPMethod, path: String) -> APIError {
        with { ($0.requestID, $0.method, $0.path) = (id, method, URLRedaction.path(path)) }
    }

    /// Keeps a text of the app or of other messages.
    func worded(by messages: ErrorMessages?) -> APIError {
        guard let messages, !details.isWorded else { return self }
        var error = self
        error.details.message = messages.text(for: self, server: details.failure.message ?? repeatedMessage)
        if let text = messages.localize?(error) { error.details.message = text }
        error.details.isWorded = true
        return error
    }

    /// The text of the app for an expired login.
    var expiryMessage: String? { type == .loginExpired && details.hasMessageOfApp ? message : nil }

    /// The server's text, for an error that an app has made of one that the server has reported.
    private var repeatedMessage: String? { code != nil && code == response?.serverCode ? response?.serverMessage : nil }

    func withResponse(ifMissing response: APIResponse?) -> APIError {
        with { $0.response = $0.response ?? response }
    }

    /// After the reason that it has.
    func withReason(_ reason: String) -> APIError {
        with { $0.reason = ($0.reason.map { "\($0); " } ?? "") + reason }
    }

    func withResponse(_ response: APIResponse) -> APIError {
        with { $0.response = response }
    }

    /// This error as that of a load; its timings have the number of the try, and for the first one the time in the queue.
    func withLoad(_ id: RequestID, attempt: Int, queueTime: Duration?) -> APIError {
        with {
            $0.response = $0.response?.withLoad(id, attempt: attempt, queueTime: queueTime)
            guard var cause = $0.underlying as? TransportError, let timings = cause.timings else { return }
            cause.timings = timings.withAttempt(attempt, queueTime: queueTime)
            $0.underlying = cause
        }
    }

    /// `nil` unless a load has failed for its status alone; forgotten at the ending, since an app may throw the error in another.
    var responseOfStatus: APIResponse? { details.isOfStatus ? response : nil }

    var isOfUndecidedLogin: Bool { details.isOfUndecidedLogin }
    /// The error of the loads for which a relogin has thrown this one; its response is not theirs, but its code and texts are.
    var ofUndecidedLogin: APIError {
        let reason = "the login could not be renewed" + (reason.map { ": \($0)" } ?? "")
        let type = type == .decoding ? .noNetwork : type
        let message = details.hasMessageOfApp ? message : nil
        let error = APIError(type, message: message, reason: reason, code: code, underlying: self)
        return error.with {
            $0.failure.message = details.failure.message ?? repeatedMessage
            $0.isOfUndecidedLogin = true
        }
    }

    func caused(by cause: APIError) -> APIError {
        with { ($0.reason, $0.underlying) = (cause.reason, cause.underlying) }
    }

    private func with(_ change: (inout Details) -> Void) -> APIError {
        var error = self
        change(&error.details)
        return error
    }
}

extension APIError {
    init(_ error: TransportError) {
        self.init(error.kind.errorType, reason: error.reason, underlying: error)
    }
}

extension TransportError.Kind {
    fileprivate var errorType: APIErrorType {
        switch self {
        case .invalidRequest: .invalidRequest
        case .noNetwork: .noNetwork
        case .hostNotFound, .cannotConnect, .connectionLost, .badResponse: .transport
        case .timeout: .timeout
        case .security: .security
        case .responseTooLarge: .responseTooLarge
        case .storage: .storage
        case .cancelled: .cancelled
        }
    }
}

extension APIError {
    /// Calls code of the app, whose errors of other types become the cause of one of `type`.
    static func mapped<Value>(
        to type: APIErrorType,
        reason: String? = nil,
        _ body: () throws -> Value
    ) throws(APIError) -> Value {
        do {
            return try body()
        } catch {
            throw error as? APIError ?? APIError(type, reason: reason, underlying: error)
        }
    }
}

extension APIError: LocalizedError, RedactedDescription {
    /// The text for the user.
    public var errorDescription: String? { message }

    /// The type, method and path, status, code and reason.
    public var description: String {
        let request = path.map { path in "\(method.map { "\($0) " } ?? "")\(path)" }
        let parts = [request, status.map { "HTTP \($0)" }, code.map { "code \($0)" }, loggedReason]
        return ([type.rawValue] + parts.compactMap { $0 }).joined(separator: ", ")
    }

    var loggedReason: String? {
        guard let reason else { return underlying?.reasonForLog }
        return underlying.flatMap(\.foreignType).map { "\(reason) (\($0))" } ?? reason
    }
}

extension Error {
    /// Never the text of an error that this library did not make: it may quote a body.
    fileprivate var reasonForLog: String {
        switch self {
        case let error as TransportError: error.reason
        case let error as APIError: error.description
        case let error as DecodingError: error.place
        default: "\(Swift.type(of: self))"
        }
    }

    /// `nil` for an error that this library has read into the reason.
    fileprivate var foreignType: String? {
        self is TransportError || self is APIError || self is DecodingError ? nil : "\(Swift.type(of: self))"
    }
}

extension DecodingError {
    /// Where decoding stopped and why, without the value.
    var place: String {
        switch self {
        case .keyNotFound(let key, let context): "no \(Self.path(context.codingPath + [key]))"
        case .typeMismatch(let type, let context): "\(Self.path(context.codingPath)) is no \(Self.name(of: type))"
        case .valueNotFound(let type, let context):
            "\(Self.path(context.codingPath)) is null, not \(Self.name(of: type))"
        case .dataCorrupted(let context): "\(Self.path(context.codingPath)) is malformed"
        @unknown default: "malformed"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        guard !keys.isEmpty else { return "the response" }
        return keys.map(name).joined(separator: ".")
    }

    /// As JSON has it: decoders report the containers of Swift.
    private static func name(of type: any Any.Type) -> String {
        switch type {
        case is [String: Any].Type: "object"
        case is [Any].Type: "array"
        default: "\(type)"
        }
    }

    /// An index, or a name in the app's code; the keys of a dictionary are the server's, and may be secret.
    static func name(of key: any CodingKey) -> String {
        if let index = key.intValue, key.stringValue == "Index \(index)" { return "[\(index)]" }
        let mirror = Mirror(reflecting: key)
        let isDeclared = key is EnvelopeKey || mirror.displayStyle == .enum && mirror.children.isEmpty
        return isDeclared ? key.stringValue : "*"
    }
}
