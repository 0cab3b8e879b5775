import Foundation

/// A jar as one exchange found it, for all its hops: what comes after a logout or a switch of jars changes neither.
struct CookieSession: Sendable {
    private let jar: CookieJar
    private let generation: CookieJar.Generation

    init(_ jar: CookieJar) {
        self.jar = jar
        generation = jar.generation
    }

    /// The `Cookie` line of a request to `url`, byte for byte; `nil` when no cookie goes there.
    func field(for url: URL, at date: Date = .now) -> HTTPField? {
        CookieHeader.value(jar.cookies(for: url, at: date)).map { HTTPField("Cookie", bytes: $0) }
    }

    /// Stores the cookies of an answer, each line on its own.
    func store(from headers: HTTPHeaders, url: URL, at date: Date = .now) {
        for field in headers.fields(named: "Set-Cookie") {
            jar.store(setCookie: field.bytes, from: url, generation: generation, at: date)
        }
    }
}
