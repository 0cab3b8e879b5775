public import Foundation

/// Shows the parts of headers, URLs and bodies that are known to be harmless, and only the size of everything else.
///
/// The value of a header, a query or form item, or a JSON member is shown as `<redacted n bytes>`, unless its name is known to be
/// harmless. Descriptions, errors, logs, cURL commands, archives and reports use one redactor, ``shared``. Add names of harmless
/// values when the app starts:
///
/// ```swift
/// Redactor.shared.shownHeaderNames = ["X-Request-ID"]
/// Redactor.shared.shownQueryNames = ["page", "per_page"]
/// Redactor.shared.shownMemberNames = ["category", "page"]
/// ```
///
/// Without names of the app, these are shown: the HTTP headers that contain no credentials, no validators and no free text; the
/// URLs in `Location`, `Content-Location`, `Origin` and `Referer`, redacted like any URL; of JSON, `null` and the members
/// `errcode`, `errno`, `errorCode` and `error_code` where they are integers from 0 to 999999; scheme, host, port and path of a
/// URL, apart from segments of more than 40 bytes that look like tokens. A parameter in a path is shown only where the path is
/// not known with `{name}` for its parameters, as in ``APIError/path``.
///
/// Names can be secrets as well, such as members whose names are e-mail addresses; see ``name(_:)`` for the names that are shown.
public struct Redactor: Sendable {
    /// The names of further headers whose values are harmless; case does not matter.
    public var shownHeaderNames: Set<String> = [] {
        didSet { addedHeaders = Set(shownHeaderNames.map { $0.lowercased() }) }
    }
    /// The names of query and form items whose values are harmless, `multipart/form-data` included; decoded, case matters.
    public var shownQueryNames: Set<String> = []
    /// The names of JSON members whose scalars, and arrays of scalars, are harmless; case matters.
    ///
    /// Members of an object are shown only if their own names are harmless.
    public var shownMemberNames: Set<String> = []

    private var addedHeaders: Set<String> = []

    /// The redactor of this process; without names of the app by default.
    ///
    /// Read on any thread whenever something is printed, so a change also applies to existing logs, recorders and values, but not
    /// to the reason of an existing error. Change it in one place, because one of two concurrent changes may be lost.
    public static var shared: Redactor {
        get { replacement ?? process.withLock(\.self) }
        set {
            precondition(replacement == nil, "a replacement of a test is not the redactor of the process")
            process.withLock { $0 = newValue }
        }
    }
    private static let process = Lock(Redactor())
    /// A replacement for ``shared`` in a test.
    @TaskLocal package static var replacement: Redactor?

    /// Of a larger body only the size is shown.
    static let bodyLimit = 256 << 10
    /// Without the query where that is not shown.
    static let urlLimit = 8 << 10

    static func hidden(_ bytes: some Collection<UInt8>) -> String { hidden(count: bytes.count) }
    static func hidden(count: Int) -> String { "<redacted \(count) bytes>" }
}

extension Redactor {
    /// Returns the printable value of a header line.
    ///
    /// Of `Cookie`, `Set-Cookie`, `Content-Type` and `Content-Disposition`, names and harmless attributes are shown. The value of
    /// a header that is known to be harmless is not shown if it is longer than 256 bytes, has unusual characters such as `@` and
    /// `%`, or has a word that looks like a token, as for ``name(_:)``, or a number of more than ten digits.
    ///
    /// - Parameters:
    ///   - name: The name of the header, in any case.
    ///   - value: The value.
    /// - Returns: The text.
    public func value(ofHeader name: String, _ value: String) -> String {
        let name = name.lowercased()
        guard !addedHeaders.contains(name) else { return value.isPrintable ? value : Self.hidden(value.utf8) }
        return HeaderRedaction(redactor: self).value(ofHeader: name, value)
    }

    /// Returns the printable value of a query item, a form item, or a part of `multipart/form-data`.
    ///
    /// - Parameters:
    ///   - name: The name, decoded.
    ///   - value: The value, decoded or not.
    /// - Returns: The value if the name is one of ``shownQueryNames``, else the placeholder.
    public func value(ofItem name: String, _ value: String) -> String {
        shownQueryNames.contains(name) && value.isPrintable ? value : Self.hidden(value.utf8)
    }

    /// Returns the printable form of the name of a query item, a form item, a cookie or a JSON member.
    ///
    /// A name is shown if it is one of ``shownQueryNames`` or ``shownMemberNames``, or looks like a name in a program: at most 40
    /// ASCII letters, digits, `_`, `-`, `.`, `[` and `]`, beginning with a letter or `_`, with at most 3 digits, in words of at
    /// most 20 characters without the many capitals of a random token. Others, such as e-mail addresses and telephone numbers,
    /// are shown as `<redacted n bytes>`. A secret that is a word cannot be distinguished from a name.
    public func name(_ name: String) -> String {
        let isShown = NameShape.isName(name) || shownQueryNames.contains(name) || shownMemberNames.contains(name)
        return isShown && name.isPrintable ? name : Self.hidden(name.utf8)
    }

    /// Shows a name that looks like one, or is one of ``shownHeaderNames``.
    package func name(ofHeader name: String) -> String {
        let isShown = NameShape.isName(name) || addedHeaders.contains(name.lowercased())
        return isShown && name.isPrintable ? name : Self.hidden(name.utf8)
    }

    package func value(ofCookieAttribute value: String) -> String {
        ValueShape.isHarmless(value) ? value : Self.hidden(value.utf8)
    }

    /// Hides the names of files and folders that do not look like names.
    static func path(of file: URL) -> String {
        file.path.split(separator: "/", omittingEmptySubsequences: false).map(fileName).joined(separator: "/")
    }

    /// Hides the name of a file unless it looks like a name: it may be that of a person.
    package static func fileName(of file: URL) -> String { fileName(file.lastPathComponent) }

    private static func fileName(_ name: some StringProtocol) -> String {
        ValueShape.isHarmless(name) ? String(name) : hidden(name.utf8)
    }

    /// Returns the printable form of a URL or a relative reference.
    ///
    /// Removes user, password and fragment, also those of a URL in the path, and redacts the values of the query. For a URL
    /// longer than 8 KB, only the size is shown. The result is meant for reading: its placeholders contain characters that are
    /// not allowed in a URL.
    public func url(_ text: String) -> String { URLRedaction(redactor: self).url(text) }

    /// Returns the names and values of a query, or of a body of the type `application/x-www-form-urlencoded`, in their printable
    /// forms.
    ///
    /// - Parameter text: The items, encoded, with `&` between them.
    /// - Returns: The items in their order; one without `=` has no name, unless it is one of ``shownQueryNames``.
    public func items(of text: String) -> [(name: String, value: String)] {
        URLRedaction(redactor: self).items(of: text).map { ($0.name, $0.value ?? "") }
    }
}

extension Redactor {
    /// Returns the printable form of a body.
    ///
    /// For JSON, shows the structure, the names and the harmless values, without whitespace; for forms and `multipart/form-data`,
    /// the names and the harmless values. Shows only the size of any other body, and of a body that is malformed, larger than 256
    /// KiB, or 1 MiB in its printable form, or nested more than 512 levels deep. Redact a body before you shorten it, because a
    /// shortened body is malformed.
    ///
    /// - Parameters:
    ///   - body: The bytes.
    ///   - contentType: The `Content-Type`, with its parameters.
    /// - Returns: The text; empty for no bytes.
    public func body(_ body: Data, contentType: String?) -> String {
        guard !body.isEmpty else { return "" }
        return BodyRedaction(redactor: self, contentType: contentType).text(of: body) ?? Self.hidden(body)
    }

    /// Returns the printable form of the body of a request, whose files and streams are not read.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - contentType: The `Content-Type`, with its parameters.
    /// - Returns: The text as of ``body(_:contentType:)-(Data,_)``, with `<redacted file>` for a file and `<redacted stream>` for a
    ///   stream.
    public func body(_ body: HTTPBody, contentType: String?) -> String {
        BodyRedaction(redactor: self, contentType: contentType).text(of: body)
    }
}

extension String {
    fileprivate var isPrintable: Bool { !unicodeScalars.contains { $0.properties.generalCategory == .control } }
}

/// Distinguishes the values that known headers and attributes usually have from tokens, addresses and other data.
enum ValueShape {
    private static let longestValue = 256
    /// A short word may be anything, such as `7F83` or `x86_64`.
    private static let shortWord = 6
    /// The digits of a number and of its parts together: dates, versions, ranges, and seconds since 1970.
    private static let longestNumber = 14
    private static let longestRun = 10
    private static let separators = Array(" ,;=/()+*:\"?<>[]{}'.\t".utf8)

    /// A secret that is a word, or several words, cannot be distinguished from a name.
    static func isHarmless(_ text: some StringProtocol) -> Bool {
        guard text.utf8.count <= longestValue else { return false }
        return text.utf8.split { separators.contains($0) }.allSatisfy { isHarmless(word: Array($0)) }
    }

    private static func isHarmless(word: [UInt8]) -> Bool {
        guard word.allSatisfy({ $0.isASCIIAlphanumeric || $0.isJoiner }) else { return false }
        if word.count <= shortWord { return true }
        let runs = word.split { $0.isJoiner }
        if word.allSatisfy({ $0.isASCIIDigit || $0.isJoiner }) {
            return word.count <= longestNumber && runs.allSatisfy { $0.count <= longestRun }
        }
        // A date, such as 21-Oct-2026.
        if word.count <= 2 * shortWord, runs.allSatisfy({ $0.count <= 4 }) { return true }
        let name = String(decoding: word, as: UTF8.self)
        return NameShape.isName(word[0].isASCIILetter ? name : "_\(name)")
    }
}

extension ValueShape {
    /// In lower case, apart from those with a number, which are ``isCharset(_:)``'s.
    private static let charsets: Set = [
        "ascii", "big5", "euc-jp", "euc-kr", "gb18030", "gb2312", "gbk", "iso-2022-jp", "koi8-r", "koi8-u", "latin1",
        "macintosh", "shift_jis", "us-ascii", "utf-16", "utf-16be", "utf-16le", "utf-32", "utf-8", "utf8",
    ]

    static func isCharset(_ name: String) -> Bool {
        let name = name.lowercased()
        if charsets.contains(name) { return true }
        return ["iso-8859-", "windows-125"].contains {
            name.hasPrefix($0) && UInt8(name.dropFirst($0.count)) ?? 16 < 16
        }
    }
}

extension UInt8 {
    fileprivate var isJoiner: Bool { self == UInt8(ascii: "-") || self == UInt8(ascii: "_") }
}

/// Distinguishes names in programs from tokens, addresses and other data by their characters.
enum NameShape {
    private static let punctuation = Array("_-.[]".utf8)

    /// See ``Redactor/name(_:)``.
    static func isName(_ text: String) -> Bool {
        let bytes = text.utf8
        guard let first = bytes.first, first.isASCIILetter || first == UInt8(ascii: "_"), bytes.count <= 40,
            bytes.count(where: \.isASCIIDigit) <= 3
        else { return false }
        return bytes.split { punctuation.contains($0) }.allSatisfy { isWord($0) }
    }

    /// Whether the words of a server's code are names, with the digits of a short number.
    static func isCode(_ text: String) -> Bool {
        guard text.utf8.count(where: \.isASCIIDigit) <= 6 else { return false }
        return text.utf8.split { "_-.:/".utf8.contains($0) }.allSatisfy { word in
            isWord(word, longest: word.contains(where: \.isASCIIDigit) ? 20 : 64)
        }
    }

    /// Of any length, such as the name of a method.
    static func isPartOfName(_ word: Substring.UTF8View) -> Bool {
        let capitals = word.count { $0.isASCIILetter && $0 < UInt8(ascii: "a") }
        return isWord(word) || capitals * 4 <= word.count && word.count(where: \.isASCIIDigit) <= 3
    }

    /// A random token has more capitals than a name.
    private static func isWord(_ word: Substring.UTF8View, longest: Int = 20) -> Bool {
        guard word.allSatisfy(\.isASCIIAlphanumeric), word.count <= longest else { return false }
        let capitals = word.count { $0.isASCIILetter && $0 < UInt8(ascii: "a") }
        return word.count <= 6 || capitals * 3 <= word.count || capitals == word.count
    }
}
