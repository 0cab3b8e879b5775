import Foundation

/// The HTTP API of the demo shop, as routes; every JSON response is `{"errcode":200,"msg":"ok","data":…}`.
///
/// A call is signed in when its cookie `sid` or its header `X-Token` matches a live session.
package struct ShopAPI: Sendable {
    let catalog: ShopCatalog
    let store = ShopStore()

    /// Creates a shop with the data files in `fixtures`.
    package init(fixtures: URL = Fixtures.directory) throws {
        catalog = try ShopCatalog(fixtures)
    }

    /// The counts of the calls so far.
    package var log: ShopLog { store.log }

    /// The routes of the shop.
    package var routes: RouteTable {
        var table = RouteTable()
        addAccount(to: &table)
        addMall(to: &table)
        addOrders(to: &table)
        addFiles(to: &table)
        addPictures(to: &table)
        addStreams(to: &table)
        addPartners(to: &table)
        addWallet(to: &table)
        addDebugRoutes(to: &table)
        return table
    }
}

/// One call to the shop.
struct ShopCall: Sendable {
    let request: RecordedRequest
    let inputs: ShopInputs

    init(_ request: RecordedRequest) {
        self.request = request
        inputs = ShopInputs(request)
    }
}

extension ShopAPI {
    /// Adds a route that needs no session.
    func open(
        _ table: inout RouteTable,
        _ method: String,
        _ pattern: String,
        _ handler: @escaping @Sendable (ShopCall) throws -> Response
    ) {
        table.on(method, pattern) { [store] request in
            store.countRequest(request.path)
            do {
                return try handler(ShopCall(request)).adding("Date", HTTPDate.now)
            } catch let refusal as ShopRefusal {
                return .refusal(refusal).adding("Date", HTTPDate.now)
            }
        }
    }

    /// Adds a route that needs a session.
    func members(
        _ table: inout RouteTable,
        _ method: String,
        _ pattern: String,
        _ handler: @escaping @Sendable (ShopCall, ShopSession) throws -> Response
    ) {
        open(&table, method, pattern) { [store] call in
            try handler(call, store.authorize(ShopCredentials(call.request)))
        }
    }
}

extension FixtureServer {
    /// Starts a server with the standard routes and a shop.
    ///
    /// - Throws: ``SystemError``, or an error of the data files.
    package static func startShop(
        _ options: ServerOptions = ServerOptions(),
        fixtures: URL = Fixtures.directory
    ) throws -> FixtureServer {
        var routes = RouteTable.standard
        routes.add(try ShopAPI(fixtures: fixtures).routes)
        return try start(options, routes: routes)
    }
}

/// The parameters of a call by name, from the query and from a JSON or form body.
struct ShopInputs: Sendable {
    private enum Scalar: Decodable {
        case text(String)
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .text(text)
            } else if let number = try? container.decode(Int.self) {
                self = .text(String(number))
            } else {
                self = .other
            }
        }
    }

    let values: [String: String]

    init(_ request: RecordedRequest) {
        let items = request.queryItems + (Self.isForm(request) ? request.formItems : [])
        let isObject = request.body.first == UInt8(ascii: "{")
        let json = isObject ? (try? request.json([String: Scalar].self)) ?? [:] : [:]
        values = json.reduce(into: Dictionary(items.map { ($0.name, $0.value) }) { $1 }) { values, entry in
            if case .text(let text) = entry.value { values[entry.key] = text }
        }
    }

    subscript(name: String) -> String? { values[name] }

    /// Returns a parameter as an integer; `standard` when it is missing.
    ///
    /// - Throws: ``ShopRefusal`` for an invalid parameter, and for a missing one without a `standard`.
    func integer(
        _ name: String,
        in range: ClosedRange<Int>,
        standard: Int? = nil
    ) throws(ShopRefusal) -> Int {
        guard let text = values[name] else {
            guard let standard else { throw .badParameter }
            return standard
        }
        guard let number = Int(text), range.contains(number) else { throw .badParameter }
        return number
    }

    private static func isForm(_ request: RecordedRequest) -> Bool {
        request.header("Content-Type")?.hasPrefix("application/x-www-form-urlencoded") == true
    }
}

/// The envelope of every JSON response of the shop.
struct ShopEnvelope<Value: Encodable>: Encodable {
    let errcode: Int
    let msg: String
    let data: Value?

    private enum Key: String, CodingKey {
        case errcode, msg, data
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(errcode, forKey: .errcode)
        try container.encode(msg, forKey: .msg)
        // `null` is encoded, as real servers do.
        try container.encode(data, forKey: .data)
    }
}

/// Empty data: `{}`.
struct Nothing: Encodable {}

/// Why the shop refuses a call.
struct ShopRefusal: Error, Equatable {
    let code: Int
    let message: String
    var status = 200

    static let wrongPassword = ShopRefusal(code: 10_001, message: "账号或密码错误")
    static let badParameter = ShopRefusal(code: 400, message: "参数错误", status: 400)
    static let notFound = ShopRefusal(code: 404, message: "内容不存在", status: 404)
    static let outOfStock = ShopRefusal(code: 20_001, message: "库存不足")
    static let badCursor = ShopRefusal(code: 30_001, message: "游标无效")
    static let broken = ShopRefusal(code: 500, message: "服务器开小差了，请稍后再试", status: 500)
    static let wrongSignature = ShopRefusal(code: 40_001, message: "签名错误")
    static let staleTimestamp = ShopRefusal(code: 40_002, message: "请求已过期，请校准时间")
    static let usedNonce = ShopRefusal(code: 40_003, message: "重复的请求")
    static let expiredKey = ShopRefusal(code: 41_001, message: "会话密钥已过期")
    static let notSealed = ShopRefusal(code: 41_002, message: "无法解密")
    static let stocktaking = ShopRefusal(code: 5001, message: "本店今日盘点，暂停下单")

    static func signedOut(_ style: SessionExpiryStyle) -> ShopRefusal {
        ShopRefusal(code: 11_010, message: "登录已过期，请重新登录", status: style == .http ? 401 : 200)
    }
}

extension Response {
    /// Returns `{"errcode":200,"msg":"ok","data":…}`.
    static func envelope(_ data: some Encodable) -> Response {
        .json(ShopEnvelope(errcode: 200, msg: "ok", data: data))
    }

    /// Returns the envelope of a refusal.
    static func refusal(_ refusal: ShopRefusal) -> Response {
        .json(
            ShopEnvelope<Nothing>(errcode: refusal.code, msg: refusal.message, data: nil),
            status: refusal.status
        )
    }
}

/// The dates of header lines, such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
enum HTTPDate {
    static var now: String { text(time(nil)) }

    /// Returns the date that is this many seconds after 1970.
    static func text(_ seconds: Int) -> String {
        var (time, parts) = (time_t(seconds), tm())
        gmtime_r(&time, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress,
                strftime(start, buffer.count, "%a, %d %b %Y %H:%M:%S GMT", &parts) > 0
            else { return "" }
            return String(cString: start)
        }
    }
}
