import Foundation

extension HTTPRequest {
    /// Returns a command for a POSIX shell and curl 7.43 or later that sends this request.
    ///
    /// ```swift
    /// print(try request.curlCommand())
    /// print(try request.curlCommand(includesSecrets: true))
    /// ```
    ///
    /// By default, the command is redacted and meant for reading: if run, it sends placeholders or fails, and reads no file. With
    /// secrets, the command contains every secret of the request, and sends the same method, URL, header lines and body as
    /// libcurl's transport; it reads files by name. `URLSession` adds header lines that the command does not send, such as
    /// `User-Agent`.
    ///
    /// The command follows no redirects. Proxy, TLS and other settings of the transport's ``TransportConfiguration`` are not part
    /// of it.
    ///
    /// - Parameter includesSecrets: Whether everything is shown, instead of what ``Redactor/shared`` shows; `false` by default.
    /// - Returns: The command, of one or more lines, without a line feed at its end.
    /// - Throws: ``TransportError/Kind/invalidRequest`` if the request would be refused before it is sent or, with secrets, if
    ///   the body contains a stream, which a command cannot repeat.
    public func curlCommand(includesSecrets: Bool = false) throws(TransportError) -> String {
        try validate()
        return try CurlCommand(request: self, redactor: includesSecrets ? nil : .shared).text()
    }
}

private struct CurlCommand {
    /// Linux limits an argument to 128 KiB.
    private static let argumentLimit = 65_536

    let request: HTTPRequest
    let redactor: Redactor?

    private var hasBody: Bool { !request.body.isEmpty || [.post, .put, .patch].contains(request.method) }

    func text() throws(TransportError) -> String {
        let (input, body) = hasBody ? try bodyOptions() : (nil, [])
        let decodes = accepted != nil && isMissing("Range")
        var lines = ["curl -q --globoff --path-as-is\(decodes ? " --compressed" : "") \(methodOption)"]
        lines[0] += "--url \(ShellText.word(url))"
        if let deadline = request.deadline {
            lines.append("--max-time \(min(max(0.001, deadline / .seconds(1)), 1_000_000))")
        }
        lines += headerLines.map { "--header \(ShellText.word($0))" } + body
        return (input.map { "\($0) | " } ?? "") + lines.joined(separator: " \\\n    ")
    }

    private var url: String { redactor?.url(request.url.absoluteString) ?? request.url.absoluteString }

    private var methodOption: String {
        switch request.method {
        case .head: "--head "
        case .get where !hasBody: ""
        default: "--request \(ShellText.word(request.method.rawValue)) "
        }
    }

    // MARK: Headers

    /// The `Accept-Encoding` that the transport sends.
    private var accepted: String? {
        #if os(Linux)
        ContentCoding.accepted.isEmpty ? nil : ContentCoding.accepted
        #else
        "gzip, deflate, br"
        #endif
    }

    /// In curl's form, of which a line without a value prevents curl's own.
    private var headerLines: [[UInt8]] {
        var lines: [[UInt8]] = []
        // As a load sends it: a range of an encoded body is of no use.
        let accepted = isMissing("Range") ? accepted : "identity"
        if let accepted, isMissing("Accept-Encoding") { lines.append(Array("Accept-Encoding: \(accepted)".utf8)) }
        lines += request.headers.filter { !$0.isWrittenByTransport }.map(line)
        let unwanted = ["User-Agent"] + (hasBody ? ["Expect", "Content-Type"] : [])
        return lines + unwanted.filter(isMissing).map { Array("\($0):".utf8) }
    }

    private func isMissing(_ name: String) -> Bool { !request.headers.contains { $0.isNamed(name) } }

    private func line(_ field: HTTPField) -> [UInt8] {
        let name = redactor?.name(ofHeader: field.name) ?? field.name
        // curl omits a header with a blank value, and sends an empty one for "Name;".
        guard field.value.utf8.contains(where: { !$0.isSpaceOrTab }) else { return Array("\(name);".utf8) }
        let value = redactor.map { Array($0.value(ofHeader: field.name, field.value).utf8) } ?? field.bytes
        return Array("\(name): ".utf8) + value
    }

    // MARK: Body

    /// Returns a command that writes the body, if it is piped, and the options.
    private func bodyOptions() throws(TransportError) -> (input: String?, options: [String]) {
        if let redactor {
            let text = redactor.body(request.body, contentType: request.headers["Content-Type"])
            return (nil, ["--data-raw \(ShellText.word(text))"])
        }
        let pieces = try joinedPieces()
        switch pieces.first ?? .data(Data()) {
        case .file(let file) where pieces.count == 1:
            return (nil, ["--data-binary \(ShellText.word("@\(file.path)"))"])
        case .data(let data) where pieces.count < 2 && data.count <= Self.argumentLimit && ShellText.isPlain(data):
            return (nil, ["--data-raw \(ShellText.word(data))"])
        default:
            let commands = pieces.map(\.writingCommand)
            let input = commands.count == 1 ? commands[0] : "{ \(commands.joined(separator: "; ")); }"
            return (input, ["--data-binary @-"])
        }
    }

    /// No two pieces from memory follow each other.
    private func joinedPieces() throws(TransportError) -> [HTTPBody.Piece] {
        var joined: [HTTPBody.Piece] = []
        for piece in request.body.pieces {
            switch (joined.last, piece) {
            case (_, .stream):
                throw TransportError(.invalidRequest, "the body has a stream, which a command cannot repeat")
            case (_, .file(let file)) where !file.isFileURL:
                throw TransportError(.invalidRequest, "a file to send is not a file URL")
            case (.data(let former), .data(let data)): joined[joined.count - 1] = .data(former + data)
            default: joined.append(piece)
            }
        }
        return joined
    }
}

extension HTTPBody.Piece {
    fileprivate var writingCommand: String {
        switch self {
        case .data(let data): ShellText.printf(data)
        case .file(let file): "cat -- \(ShellText.word(file.path))"
        case .stream: "false"
        }
    }
}

/// Text and bytes as words of a POSIX shell, which executes nothing of them.
enum ShellText {
    /// The bytes contain no NUL.
    static func word(_ bytes: some Collection<UInt8>) -> String {
        guard !isPlain(bytes) else { return quoted(String(decoding: bytes, as: UTF8.self)) }
        // A command substitution removes line feeds from the end.
        let lineFeeds = Array(bytes).reversed().prefix { $0 == UInt8(ascii: "\n") }.count
        let end = lineFeeds == 0 ? "" : quoted(String(repeating: "\n", count: lineFeeds))
        return "\"$(\(printf(bytes.prefix(bytes.count - lineFeeds))))\"\(end)"
    }

    static func word(_ text: String) -> String { word(text.utf8) }

    static func printf(_ bytes: some Collection<UInt8>) -> String {
        var format: [UInt8] = []
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\n"): format += "\\n".utf8
            case UInt8(ascii: "%"): format += "%%".utf8
            case UInt8(ascii: "\\"): format += "\\\\".utf8
            case UInt8(ascii: "-") where format.isEmpty, UInt8(ascii: "'"), 0..<0x20, 0x7F...: format += octal(byte)
            default: format.append(byte)
            }
        }
        return "printf '\(String(decoding: format, as: UTF8.self))'"
    }

    /// Printable text in UTF-8, and line feeds.
    static func isPlain(_ bytes: some Collection<UInt8>) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        return text.unicodeScalars.allSatisfy { $0 == "\n" || $0.isShownAsItself }
    }

    private static func quoted(_ text: String) -> String {
        "'\(text.replacingScalar("'", with: #"'\''"#))'"
    }

    private static func octal(_ byte: UInt8) -> [UInt8] {
        [UInt8(ascii: "\\")] + [byte >> 6, byte >> 3 & 7, byte & 7].map { UInt8(ascii: "0") + $0 }
    }
}

extension Unicode.Scalar {
    /// Whether a terminal shows the character and is not controlled by it, nor is the direction of other text.
    var isShownAsItself: Bool {
        if isASCII { return value >= 0x20 && value != 0x7F }
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
