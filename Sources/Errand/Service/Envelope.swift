import Foundation

/// The JSON wrapper that carries the business code: `{"errcode":200,"msg":"…","data":…}`.
///
/// A key may be a path such as `meta.code` or `data.page`, whose dots separate the names of nested objects. If the outermost
/// object has a member whose name is the whole key, that member is used.
public struct Envelope: Sendable, Hashable {
    /// The key of the business code, which is a number, a string or a Boolean.
    ///
    /// If this and ``successKey`` are `nil`, every response with an accepted status is a success.
    public var codeKey: String? = "errcode"
    /// The key of the value that decides about success, if the code does not; `nil` by default.
    ///
    /// For `{"success":false,"code":"E1001","message":"…"}`, use `success`. The response is a success if the value is `true` or
    /// one of the ``successCodes``. With this key, the code may be missing.
    public var successKey: String?
    /// The key of the message for the user; `nil` if there is none.
    public var messageKey: String? = "msg"
    /// The key of the value that is decoded as ``APIManager/Response``.
    ///
    /// The value may be missing only if the type is optional or `Void`.
    ///
    /// `nil` decodes the whole object, for data that is beside the code.
    public var dataKey: String? = "data"
    /// The codes that mean success; 200 by default.
    public var successCodes: Set<ServerCode> = [200]
    /// The codes that mean that the login has expired; 11010 by default.
    public var loginExpiredCodes: Set<ServerCode> = [11010]

    /// Creates the default envelope.
    public init() {}

    /// The envelope of responses without a wrapper, whose whole body is decoded.
    ///
    /// Use this as the ``APIRequestOptions/envelope`` of a single request if its service has an envelope.
    public static let wholeBody: Envelope = {
        var envelope = Envelope()
        (envelope.codeKey, envelope.messageKey, envelope.dataKey) = (nil, nil, nil)
        return envelope
    }()
}

extension Envelope {
    var decisiveKey: String? { successKey ?? codeKey }

    func isSuccess(_ value: ServerCode) -> Bool {
        successCodes.contains(value) || successKey != nil && value == true
    }

    var isWholeBody: Bool { decisiveKey == nil && dataKey == nil }
}

/// What an envelope contains besides its data.
struct EnvelopeHead: Sendable {
    let statement: ServerFailure
    /// Fails if there is not a code where there should be one.
    fileprivate let decision: Result<Bool, any Error>

    var isSuccess: Bool? { try? decision.get() }
}

extension EnvelopeHead: DecodableWithConfiguration {
    init(from decoder: any Decoder, configuration envelope: Envelope) throws {
        self.init(in: try decoder.container(keyedBy: EnvelopeKey.self), of: envelope)
    }

    /// Reads as much as there is.
    fileprivate init(in container: KeyedDecodingContainer<EnvelopeKey>, of envelope: Envelope) {
        let decisive = Result { try envelope.decisiveKey.map(container.code) }
        let decisiveCode = try? decisive.get()
        let code =
            envelope.successKey == nil ? decisiveCode : envelope.codeKey.flatMap { try? container.code(at: $0) }
        statement = ServerFailure(code: code, message: container.message(of: envelope))
        decision = decisive.map { $0.map(envelope.isSuccess) ?? true }
    }
}

/// An envelope with its data, which is decoded only when the code means success.
enum EnvelopeContent<Value: Decodable>: DecodableWithConfiguration {
    case success(Value, ServerFailure)
    case successWithoutData(DecodingError, ServerFailure)
    case failure(ServerFailure)
    /// The response is not an object, or has no code where the envelope has it.
    case notEnveloped(DecodingError)

    init(from decoder: any Decoder, configuration envelope: Envelope) throws {
        let container: KeyedDecodingContainer<EnvelopeKey>
        let head: EnvelopeHead
        do {
            container = try decoder.container(keyedBy: EnvelopeKey.self)
            head = EnvelopeHead(in: container, of: envelope)
            guard try head.decision.get() else {
                self = .failure(head.statement)
                return
            }
        } catch let error as DecodingError {
            self = .notEnveloped(error)
            return
        }
        guard let path = envelope.dataKey else {
            self = .success(try decoder.singleValueContainer().decode(Value.self), head.statement)
            return
        }
        guard let (object, key) = try container.member(at: path) else {
            self = .successWithoutData(.keyNotFound(path, in: container), head.statement)
            return
        }
        self = .success(try object.decode(Value.self, forKey: key), head.statement)
    }
}

extension KeyedDecodingContainer<EnvelopeKey> {
    /// Returns the object that has the member, and its key there; throws when the path leads through another value.
    fileprivate func member(at path: String) throws -> (KeyedDecodingContainer, EnvelopeKey)? {
        let whole = key(path)
        if contains(whole) { return (self, whole) }
        guard path.utf8.contains(UInt8(ascii: ".")) else { return nil }
        var (container, names) = (self, path.split(separator: "."))
        guard let last = names.popLast() else { return nil }
        for name in names {
            let key = container.key(String(name))
            guard container.contains(key), try !container.decodeNil(forKey: key) else { return nil }
            container = try container.nestedContainer(keyedBy: EnvelopeKey.self, forKey: key)
        }
        let key = container.key(String(last))
        return container.contains(key) ? (container, key) : nil
    }

    /// Returns the key in camel case where the decoder's strategy has converted the names.
    private func key(_ name: String) -> EnvelopeKey {
        let key = EnvelopeKey(name)
        return contains(key) ? key : EnvelopeKey(name.camelCase)
    }

    fileprivate func code(at path: String) throws -> ServerCode {
        // Most codes are numbers of the outermost object, for which neither a search nor a container is needed.
        if let number = try? decode(Int.self, forKey: EnvelopeKey(path)) { return ServerCode(number) }
        guard let (container, key) = try member(at: path) else { throw DecodingError.keyNotFound(path, in: self) }
        return try container.decode(ServerCode.self, forKey: key)
    }

    fileprivate func message(of envelope: Envelope) -> String? {
        guard let path = envelope.messageKey, let (container, key) = try? member(at: path) else { return nil }
        return try? container.decodeIfPresent(String.self, forKey: key)
    }
}

extension DecodingError {
    fileprivate static func keyNotFound(_ path: String, in container: KeyedDecodingContainer<EnvelopeKey>) -> Self {
        let context = Context(codingPath: container.codingPath, debugDescription: "the envelope has no such member")
        return .keyNotFound(EnvelopeKey(path), context)
    }
}

/// A name that ``Envelope`` gives.
struct EnvelopeKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ text: String) { stringValue = text }
    init(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}
