import Errand
package import Foundation

/// Requests and responses with secrets wherever an app or a server may put them, for tests of what is printed.
///
/// Equal for equal seeds.
package struct PlantedSecrets: Sendable {
    /// A request that can be sent, and its response.
    package struct Exchange: Sendable {
        /// The request, with secrets in its query, fragment, headers and body.
        package let request: HTTPRequest
        /// The response, with secrets in its headers and body.
        package let response: HTTPResponse
        /// The URL of the request with a user and a password, with which no request is sent.
        package let urlWithUser: URL
    }

    /// All secrets.
    package private(set) var secrets: [String] = []
    /// The exchanges, until all secrets are planted.
    package private(set) var exchanges: [Exchange] = []
    private var random: SecretSource
    private var finder = SecretFinder()

    /// Plants at least this many secrets.
    package init(count: Int = 10_000, seed: UInt64 = 1) {
        random = SecretSource(seed: seed)
        while secrets.count < count {
            let (url, urlWithUser) = urls()
            let request = HTTPRequest(exchanges.count.isMultiple(of: 2) ? .post : .put, url, headers: requestHeaders())
            exchanges.append(
                Exchange(
                    request: having(body: exchanges.count % 5, request),
                    response: response(),
                    urlWithUser: urlWithUser
                )
            )
        }
    }

    /// Returns the secrets that `text` contains: as they are, percent-encoded, or in Base64; half of a long one counts.
    package func leaks(in text: String) -> Set<String> { finder.leaks(in: Array(text.utf8)) }

    /// Returns the secrets that a file contains, such as a HAR file.
    package func leaks(in data: Data) -> Set<String> { finder.leaks(in: Array(data)) }

    // MARK: Secrets

    private mutating func value() -> String { planted(random.secret()) }

    /// A secret in the place of a name; no name in a program looks like it.
    private mutating func name() -> String { planted(random.secretName()) }

    /// A secret that a header, a product or a domain may have as its name.
    private mutating func identifier() -> String { planted(random.secretIdentifier()) }

    private mutating func encoded() -> String { Self.encoded(value()) }

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    private mutating func planted(_ secret: String) -> String {
        secrets.append(secret)
        finder.add(secret)
        return secret
    }

    // MARK: Requests

    private mutating func urls() -> (URL, URL) {
        let name = Self.encoded(name())
        let rest = "shop.test/api/goods;id=\(encoded())/7?token=\(encoded())&\(name)=1&\(encoded())&a#\(encoded())"
        let (user, password) = (encoded(), encoded())
        return (Self.url("https://\(rest)"), Self.url("https://\(user):\(password)@\(rest)"))
    }

    private mutating func requestHeaders() -> HTTPHeaders {
        let login = Data("user:\(value())".utf8).base64EncodedString()
        return [
            "Authorization": "Basic \(login)", "X-Api-Key": value(), "X-\(random.word())": value(), identifier(): "1",
            "User-Agent": "Shop/1.0 (\(identifier()); \(encoded()))",
            "Cookie": "sid=\(encoded()); \(encoded()); \(name().replacing("@", with: "%40"))=1",
            "Referer": "https://\(encoded()):\(encoded())@shop.test/?q=\(encoded())#\(encoded())",
            "If-None-Match": "\"\(encoded())\"", "Accept": "application/json", "Accept-Language": "de",
        ]
    }

    private mutating func having(body kind: Int, _ request: HTTPRequest) -> HTTPRequest {
        var request = request
        let (type, body): (String, HTTPBody) =
            switch kind {
            case 0: ("application/json; charset=utf-8", .data(json()))
            case 1: ("application/x-www-form-urlencoded", .data(form()))
            case 2: ("multipart/form-data; boundary=xyz", multipart())
            case 3: ("text/plain; name=\"\(encoded())\"", .data(Data(value().utf8)))
            default: ("application/vnd.shop+json", .data(Data(json().dropLast())))
            }
        request.headers["Content-Type"] = type
        request.body = body
        return request
    }

    private mutating func json() -> Data {
        let members: [String: JSONValue] = [
            "errcode": 200, "msg": .string(value()), "password": .string(value()), name(): 1, "page": .string(value()),
            "data": .array([
                .object(["token": .string(value()), name(): .object(["a": .string(value())])]), .string(value()),
                .array([.string(value())]),
            ]),
        ]
        return (try? JSONEncoder().encode(JSONValue.object(members))) ?? Data()
    }

    private mutating func form() -> Data {
        let name = Self.encoded(name())
        return Data("password=\(encoded())&\(name)=1&\(encoded())&page=\(encoded())".utf8)
    }

    private mutating func multipart() -> HTTPBody {
        let file = URL(fileURLWithPath: "/tmp/\(encoded())")
        let head = "--xyz\r\nContent-Disposition: form-data; name="
        let heads = [
            "\(head)\"password\"\r\n\r\n\(value())\r\n",
            "\(head)\"\(name())\"; filename=\"\(encoded());\(encoded())\"\r\nX-Key: \(encoded())\r\n\r\n\(value())\r\n",
            "\(head)\"file\"; filename=\"\(encoded())\"\r\nContent-Type: a/b; x=\(encoded())\r\n\r\n",
        ]
        return HTTPBody([.data(Data(heads.joined().utf8)), .file(file), .data(Data("\r\n--xyz--\r\n".utf8))])
    }

    // MARK: Responses

    private mutating func response() -> HTTPResponse {
        let isError = exchanges.count.isMultiple(of: 3)
        let headers: HTTPHeaders = [
            "Location": "https://\(encoded()):\(encoded())@shop.test/x?code=\(encoded())#access_token=\(encoded())",
            "Set-Cookie": "sid=\(encoded()); Path=/; \(encoded())=1", "ETag": "\"\(encoded())\"",
            "Set-Cookie": "\(name())=1; Domain=\(identifier()); Path=/\(encoded()); SameSite=\(name())",
            "Server": "shop/\(identifier())", identifier(): "1", "Via": "1.1 \(name())",
            "Content-Disposition": "attachment; filename=\"\(encoded())\"; filename*=UTF-8''\(encoded())",
            "Link": "</x?cursor=\(encoded())>; rel=next", "X-Token": value(), "Refresh": "1; url=/?t=\(encoded())",
            "Content-Type": "\(isError ? "application/problem+json" : "application/json"); charset=\(identifier())",
        ]
        return HTTPResponse(status: isError ? 500 : 200, headers: headers, body: json())
    }

    private static func url(_ text: String) -> URL {
        guard let url = URL(string: text) else { preconditionFailure("not a URL: \(text)") }
        return url
    }
}

/// Finds any of many secrets in a text, in one pass.
struct SecretFinder {
    /// The bytes of a needle that are compared first.
    private static let keyLength = 8

    private var needles: [UInt64: [(bytes: [UInt8], secret: String)]] = [:]

    /// Searches for `secret`, and for both halves of a long one, percent-encoded or not, and for it in Base64 at any position of
    /// the encoded text.
    mutating func add(_ secret: String) {
        let bytes = Array(secret.utf8)
        let encoded = secret.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? secret
        for text in [bytes, Array(encoded.utf8)] {
            add(text, of: secret)
            guard text.count >= 3 * Self.keyLength else { continue }
            add(Array(text[(text.count / 2)...]), of: secret)
            add(Array(text[..<(text.count / 2)]), of: secret)
        }
        for offset in 0..<3 {
            // The characters at both ends depend on the bytes before and after the secret.
            let base64 = Data(repeating: 0, count: offset) + bytes
            let inner = Array(
                base64.base64EncodedString().utf8.dropFirst((offset * 8 + 5) / 6).prefix { $0 != UInt8(ascii: "=") }
            )
            add(Array(inner.dropLast()), of: secret)
        }
    }

    private mutating func add(_ bytes: [UInt8], of secret: String) {
        guard bytes.count >= Self.keyLength else { return }
        let key = bytes.prefix(Self.keyLength).reduce(0) { $0 << 8 | UInt64($1) }
        needles[key, default: []].append((bytes, secret))
    }

    /// Returns the secrets that are found.
    func leaks(in text: [UInt8]) -> Set<String> {
        var (found, key) = (Set<String>(), UInt64(0))
        for (index, byte) in text.enumerated() {
            key = key << 8 | UInt64(byte)
            guard let candidates = needles[key] else { continue }
            let start = index + 1 - Self.keyLength
            for (bytes, secret) in candidates where start >= 0 && text[start...].starts(with: bytes) {
                found.insert(secret)
            }
        }
        return found
    }
}

/// Generates secrets of the usual kinds.
struct SecretSource {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    }

    /// A token, a password with blanks and quotes, or one of the secrets that are names.
    mutating func secret() -> String {
        switch next() % 4 {
        case 0: text(40, of: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        case 1: "\(text(8, of: "abcdefghijkmnopqrstuvwxyz")) \(text(8, of: "!%&/()=?+*#äöü0123456789"))"
        case 2: "eyJ\(text(20, of: "abcdefghijkmnopqrstuvwxyz0123456789")).\(text(43, of: "ABCDEFabcdef0123456789-_"))"
        default: secretName()
        }
    }

    /// An e-mail address, or another secret as of ``secretIdentifier()``.
    mutating func secretName() -> String {
        guard next() % 4 == 0 else { return secretIdentifier() }
        return "\(text(12, of: "abcdefghijklmnopqrstuvwxyz"))@\(text(8, of: "abcdefghijklmnopqrstuvwxyz")).test"
    }

    /// A hexadecimal token, a telephone number or a UUID.
    mutating func secretIdentifier() -> String {
        switch next() % 3 {
        case 0: "c0ffee" + text(26, of: "0123456789abcdef")
        case 1: "0049" + text(12, of: "0123456789")
        default: [8, 4, 4, 4, 12].map { text($0, of: "0123456789abcdef") }.joined(separator: "-")
        }
    }

    /// A name of a header that no list contains.
    mutating func word() -> String { text(6, of: "abcdefghijklmnopqrstuvwxyz") }

    private mutating func text(_ count: Int, of alphabet: String) -> String {
        let characters = Array(alphabet)
        return String((0..<count).map { _ in characters[Int(next() % UInt64(characters.count))] })
    }

    /// SplitMix64.
    private mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
        return bits ^ bits >> 31
    }
}
