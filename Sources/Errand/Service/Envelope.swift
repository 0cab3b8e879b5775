/// The JSON wrapper that carries the business code: `{"errcode":200,"msg":"…","data":…}`.
///
/// A key may be a path, such as `meta.code` or `data.page`: dots separate the names of nested objects, unless the outermost
/// object has a member of that very name.
public struct Envelope: Sendable, Hashable {
    /// The key of the business code, a number, a string or a Boolean; `nil` if there is none, so that every answer with an
    /// accepted status is a success.
    public var codeKey: String? = "errcode"
    /// The key of the value that decides about success, where that is not the code; `nil` by default.
    ///
    /// For `{"success":false,"code":"E1001","message":"…"}` it is `success`. `true` and the ``successCodes`` are a success.
    /// Such an answer may have no code.
    public var successKey: String?
    /// The key of the message that is meant for the user; `nil` if there is none.
    public var messageKey: String? = "msg"
    /// The key of what ``APIManager/Response`` is decoded from; only an optional and `Void` do without it.
    ///
    /// `nil` decodes the whole object, whose other members are beside the code.
    public var dataKey: String? = "data"
    /// The codes that mean success; 200 by default.
    public var successCodes: Set<ServerCode> = [200]
    /// The codes that mean that the login has expired; 11010 by default.
    public var loginExpiredCodes: Set<ServerCode> = [11010]

    /// Creates the default envelope, whose properties can then be set.
    public init() {}

    /// No wrapper: the whole body is decoded.
    ///
    /// For the ``BaseAPIRequest/envelope`` of one request of a service with envelopes.
    public static let wholeBody: Envelope = {
        var envelope = Envelope()
        (envelope.codeKey, envelope.messageKey, envelope.dataKey) = (nil, nil, nil)
        return envelope
    }()
}

extension Envelope {
    /// The key of the value that decides about success; `nil` if nothing does.
    var decisiveKey: String? { successKey ?? codeKey }

    /// Returns whether the value under ``decisiveKey`` means success.
    func isSuccess(_ value: ServerCode) -> Bool {
        // Most services have one such code, which needs no hash.
        successCodes.first == value || successCodes.contains(value) || successKey != nil && value == true
    }

    /// Whether answers are decoded as a whole, whatever they are.
    var isWholeBody: Bool { decisiveKey == nil && dataKey == nil }
}
