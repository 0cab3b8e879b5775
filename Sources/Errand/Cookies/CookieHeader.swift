import Foundation

enum CookieHeader {
    /// Servers accept lines of 8 KB, in which `Cookie: ` and the line end have to fit as well.
    static let maximumLength = 8_192 - "Cookie: \r\n".utf8.count

    /// Without the cookies that no longer fit.
    static func value(_ cookies: [Cookie]) -> [UInt8]? {
        var value: [UInt8] = []
        for cookie in cookies {
            let end = value.count
            if end > 0 { value += "; ".utf8 }
            value += cookie.nameBytes
            if !cookie.nameBytes.isEmpty { value.append(UInt8(ascii: "=")) }
            value += cookie.valueBytes
            if value.count > maximumLength { value.removeSubrange(end...) }
        }
        return value.isEmpty ? nil : value
    }
}

/// The jar and its generation when an exchange began, for all redirects of the exchange.
///
/// A logout or a change of jars during the exchange affects neither.
struct CookieSession: Sendable {
    private let jar: CookieJar
    private let generation: CookieJar.Generation
    private let start: Date
    /// Whether the login has been replaced since.
    private let isLate: @Sendable () -> Bool
    /// With which they refuse one.
    private let refusals: Set<Int>

    /// The jar takes over what other processes have saved.
    init(
        _ jar: CookieJar,
        clock: any APIClock,
        refusals: Set<Int> = [],
        isLate: @escaping @Sendable () -> Bool = { false }
    ) {
        start = clock.date
        jar.refresh(at: clock.uptime, date: start)
        (self.jar, self.refusals, self.isLate) = (jar, refusals, isLate)
        generation = jar.generation
    }

    /// Names the jar for a later process; that of a jar in memory is always the same.
    var account: String { jar.cacheName.hasPrefix(CookieFile.memoryMark) ? "" : jar.cacheName }

    /// Byte for byte; after a logout, what the jar has is the next user's.
    func field(for url: URL, at date: Date = .now) -> HTTPField? {
        CookieHeader.value(jar.cookies(for: url, at: date, of: generation)).map { HTTPField("Cookie", bytes: $0) }
    }

    /// Stores the cookies of a response, one for each `Set-Cookie` header field.
    ///
    /// Servers remove the cookie of a login that they refuse, which may be that of a new login by now: one that was set after the
    /// request was sent. The response with that may not have ended yet.
    ///
    /// Of as many fields as one site may have cookies: the cookies of further ones would only evict those of the first ones,
    /// and a head of a server may have thousands, which take seconds.
    func store(from headers: HTTPHeaders, url: URL, status: Int, sentAt: Date? = nil, at date: Date = .now) {
        let fields = headers.fields(named: "Set-Cookie").prefix(CookieStore.maximumPerSite)
        guard !fields.isEmpty else { return }
        // Another process may have ended the session since the request was sent.
        jar.refreshNow(at: date)
        // A body, or another status, may say that it is a refusal as well.
        let (isLate, isSuccess) = (isLate(), 200..<300 ~= status)
        // What this response has set itself counts for the rest of it.
        var own: [Cookie] = []
        for field in fields {
            let outcome = jar.store(
                setCookie: field.bytes,
                from: url,
                generation: generation,
                unlessUpdatedSince: isLate || !isSuccess ? sentAt ?? start : nil,
                removalsOnly: !(isLate && refusals.contains(status)),
                except: own,
                at: date
            )
            if case .stored(let cookie) = outcome, isLate || !isSuccess { own.append(cookie) }
        }
    }
}
