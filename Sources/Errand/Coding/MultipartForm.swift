public import Foundation

/// The parts of a `multipart/form-data` body (RFC 7578), from memory, files and streams.
///
/// Files and streams are read while they are sent, never as a whole. Names and file names are encoded in UTF-8 with `"` as `%22`,
/// as in browsers. A name, file name or media type with a control character fails the load with `invalidRequest` before a byte is
/// sent.
public struct MultipartForm: Sendable {
    struct Part: Sendable {
        let name: String
        let filename: String?
        let contentType: String?
        let content: HTTPBody.Piece
    }

    var parts: [Part] = []
    // Equal for all tries of a load, so that each sends the same bytes.
    let boundary: String

    init(boundary: String = "errand-\(String.uniqueName)") {
        self.boundary = boundary
    }

    /// Adds a part from memory.
    ///
    /// - Parameters:
    ///   - data: The part's bytes.
    ///   - name: The name of the form field.
    ///   - filename: The file name sent to the server; `nil` for a plain field.
    ///   - contentType: The part's media type; by default it is guessed by the extension of `filename`, and omitted for a plain
    ///     field.
    public mutating func append(_ data: Data, name: String, filename: String? = nil, contentType: String? = nil) {
        let contentType = contentType ?? filename.map { MediaType.guess(fileName: $0) ?? MediaType.unknown }
        parts.append(Part(name: name, filename: filename, contentType: contentType, content: .data(data)))
    }

    /// Adds a part from a file, read while it is sent.
    ///
    /// - Parameters:
    ///   - file: A regular file, which must not change until the load has ended.
    ///   - name: The name of the form field.
    ///   - filename: The file name sent to the server; the name of `file` by default.
    ///   - contentType: The part's media type; by default it is guessed by the extension of `filename` or else of `file`, and is
    ///     `application/octet-stream` if that is unknown.
    public mutating func append(file: URL, name: String, filename: String? = nil, contentType: String? = nil) {
        let guess = { [filename, file.lastPathComponent].lazy.compactMap { $0 }.compactMap(MediaType.guess).first }
        let contentType = contentType ?? guess() ?? MediaType.unknown
        let filename = filename ?? file.lastPathComponent
        parts.append(Part(name: name, filename: filename, contentType: contentType, content: .file(file)))
    }

    /// Adds a part from a stream, read while it is sent.
    ///
    /// - Parameters:
    ///   - stream: The bytes; if their number is unknown, so is that of the whole body.
    ///   - name: The name of the form field.
    ///   - filename: The file name sent to the server; `nil` for a plain field.
    ///   - contentType: The part's media type; by default it is guessed by the extension of `filename`, and omitted for a plain
    ///     field.
    public mutating func append(
        stream: HTTPBody.Stream,
        name: String,
        filename: String? = nil,
        contentType: String? = nil
    ) {
        let contentType = contentType ?? filename.map { MediaType.guess(fileName: $0) ?? MediaType.unknown }
        parts.append(Part(name: name, filename: filename, contentType: contentType, content: .stream(stream)))
    }

    /// `fields` first, then the parts.
    func body(fields: [FormEncoding.Pair]) throws(APIError) -> HTTPBody {
        let fields = fields.map {
            Part(name: $0.name, filename: nil, contentType: nil, content: .data(Data($0.value.utf8)))
        }
        var pieces: [HTTPBody.Piece] = []
        for part in fields + parts {
            pieces += [.data(Data(try head(of: part).utf8)), part.content, .data(Data("\r\n".utf8))]
        }
        return HTTPBody(pieces + [.data(Data("--\(boundary)--\r\n".utf8))])
    }

    private func head(of part: Part) throws(APIError) -> String {
        var head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(try quoted(part.name))\""
        if let filename = part.filename { head += "; filename=\"\(try quoted(filename))\"" }
        if let contentType = part.contentType { head += "\r\nContent-Type: \(try checked(contentType))" }
        return head + "\r\n\r\n"
    }

    private func quoted(_ text: String) throws(APIError) -> String {
        try checked(text).replacingScalar("\"", with: "%22")
    }

    private func checked(_ text: String) throws(APIError) -> String {
        guard !text.utf8.contains(where: \.isASCIIControl) else {
            throw APIError(.invalidRequest, reason: "a multipart name, file name or type contains a control character")
        }
        return text
    }
}

extension MultipartForm: RedactedDescription {
    /// The names, sizes and files of the parts, without their contents.
    public var description: String {
        "MultipartForm(\(parts.map { "\(Redactor.shared.name($0.name)): \($0.content)" }.joined(separator: ", ")))"
    }
}
