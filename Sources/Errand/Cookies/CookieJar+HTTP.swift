import Foundation

extension CookieJar {
    /// Stores the cookies of an answer, each line on its own.
    func store(from headers: HTTPHeaders, url: URL, generation: Generation, at date: Date = .now) {
        for field in headers.fields(named: "Set-Cookie") {
            store(setCookie: field.bytes, from: url, generation: generation, at: date)
        }
    }

    /// The `Cookie` line of a request to `url`, byte for byte; `nil` when no cookie goes there.
    func field(for url: URL, at date: Date = .now) -> HTTPField? {
        CookieHeader.value(cookies(for: url, at: date)).map { HTTPField("Cookie", bytes: $0) }
    }
}
