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
