public import Errand
public import Foundation

/// What a recorded request contains, decoded as by a server.
///
/// ```swift
/// let request = try #require(network.requests.last)
/// #expect(try request.json["text"]?.string == "tea")
/// #expect(request.query == ["page": ["2"]])
/// ```
extension HTTPRequest {
    /// The body as JSON, whatever its `Content-Type` is.
    ///
    /// Throws `DecodingError` when there is no body, when it is a stream, and when it is not JSON.
    public var json: JSONValue {
        get throws {
            let body = try bodyData
            do {
                return try JSONValue(json: body)
            } catch {
                throw Self.error("the body is not JSON; \(typeForReason)", underlying: error)
            }
        }
    }

    /// Returns a value that is decoded from the JSON of the body.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - decoder: Decodes the value; the default reads dates in ISO 8601, as a service writes them.
    /// - Returns: The value.
    /// - Throws: `DecodingError`, as ``json`` does, and for JSON of another shape.
    public func json<Value: Decodable>(as type: Value.Type, decoder: JSONDecoder? = nil) throws -> Value {
        _ = try json
        return try (decoder ?? .iso8601).decode(type, from: bodyData)
    }

    /// The values of each name in a body of the type `application/x-www-form-urlencoded`, decoded; those of one name in their
    /// order.
    ///
    /// Throws `DecodingError` when there is no body, when it is a stream, and when it has another `Content-Type`.
    public var form: [String: [String]] {
        get throws {
            let body = try bodyData
            guard headers.mediaType == "application/x-www-form-urlencoded" else {
                throw Self.error("the body is not a form; \(typeForReason)")
            }
            return Self.values(in: String(decoding: body, as: UTF8.self))
        }
    }

    /// The values of each name in the query of the URL, decoded; those of one name in their order.
    public var query: [String: [String]] { Self.values(in: url.query(percentEncoded: true) ?? "") }

    /// The bytes of the body, such as those of a multipart form; those of files are read now.
    ///
    /// Throws `DecodingError` when there is no body, when it is a stream or has one as a part, and when a file cannot be read.
    public var bodyData: Data {
        get throws {
            guard !body.isEmpty else {
                throw Self.error("the request has no body; parameters of a GET are in its query")
            }
            return try body.pieces.reduce(into: Data()) { bytes, piece in
                switch piece {
                case .data(let data): bytes += data
                case .file(let file):
                    guard let data = FileManager.default.contents(atPath: file.path) else {
                        throw Self.error("a file of the body cannot be read")
                    }
                    bytes += data
                case .stream: throw Self.error("the body is a stream, or has one as a part")
                }
            }
        }
    }

    private var typeForReason: String {
        guard let type = headers["Content-Type"] else { return "it has no Content-Type" }
        return "its Content-Type is \(Redactor.shared.value(ofHeader: "Content-Type", type))"
    }

    /// Decodes names and values as the WHATWG parser of forms does (URL Standard section 5.1).
    private static func values(in text: String) -> [String: [String]] {
        text.utf8.split(separator: UInt8(ascii: "&")).reduce(into: [:]) { values, item in
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            let value = item[name.endIndex...].dropFirst()
            let decodedName = PercentEncoding.decodedFormText(name)
            values[decodedName, default: []].append(PercentEncoding.decodedFormText(value))
        }
    }

    private static func error(_ reason: String, underlying: (any Error)? = nil) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: reason, underlyingError: underlying))
    }
}
