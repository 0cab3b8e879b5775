import Foundation

/// The JSON wrapper that carries the business code: `{"errcode":200,"msg":"…","data":…}`.
public struct Envelope: Sendable, Hashable {
    /// The key of the business code, a number or a string of digits.
    public var codeKey = "errcode"
    /// The key of the message that is meant for the user.
    public var messageKey = "msg"
    /// The key of what ``APIManager/Response`` is decoded from; only an optional and `Void` do without it.
    public var dataKey = "data"
    /// The codes that mean success; 200 by default.
    public var successCodes: Set<Int> = [200]
    /// The codes that mean that the login has expired; 11010 by default.
    public var loginExpiredCodes: Set<Int> = [11010]

    /// Creates the default envelope, whose properties can then be set.
    public init() {}
}

/// The code and the message of an envelope.
struct EnvelopeHead: DecodableWithConfiguration, Sendable {
    let code: Int
    let message: String?

    init(from decoder: any Decoder, configuration envelope: Envelope) throws {
        let container = try decoder.container(keyedBy: EnvelopeKey.self)
        self.init(code: try container.code(of: envelope), in: container, of: envelope)
    }

    fileprivate init(code: Int, in container: KeyedDecodingContainer<EnvelopeKey>, of envelope: Envelope) {
        self.code = code
        message = try? container.decodeIfPresent(String.self, forKey: container.key(envelope.messageKey))
    }
}

/// An envelope with its data, which is decoded only when the code means success.
enum EnvelopeContent<Value: Decodable>: DecodableWithConfiguration {
    case success(Value)
    case successWithoutData(DecodingError)
    case failure(EnvelopeHead)

    init(from decoder: any Decoder, configuration envelope: Envelope) throws {
        let container = try decoder.container(keyedBy: EnvelopeKey.self)
        let code = try container.code(of: envelope)
        guard envelope.successCodes.contains(code) else {
            self = .failure(EnvelopeHead(code: code, in: container, of: envelope))
            return
        }
        let key = container.key(envelope.dataKey)
        guard container.contains(key) else {
            let context = DecodingError.Context(codingPath: container.codingPath, debugDescription: "no data")
            self = .successWithoutData(.keyNotFound(key, context))
            return
        }
        self = .success(try container.decode(Value.self, forKey: key))
    }
}

extension KeyedDecodingContainer<EnvelopeKey> {
    /// The key as it is, or in camel case where the decoder's strategy has converted the names.
    fileprivate func key(_ name: String) -> EnvelopeKey {
        let key = EnvelopeKey(name)
        guard !contains(key) else { return key }
        let words = name.split(separator: "_")
        return EnvelopeKey(words.prefix(1).joined() + words.dropFirst().map(\.capitalized).joined())
    }

    fileprivate func code(of envelope: Envelope) throws -> Int {
        let key = key(envelope.codeKey)
        do {
            return try decode(Int.self, forKey: key)
        } catch {
            guard let code = (try? decode(String.self, forKey: key)).flatMap({ Int($0) }) else { throw error }
            return code
        }
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
