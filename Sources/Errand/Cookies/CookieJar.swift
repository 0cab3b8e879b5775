import Foundation
public final class CookieJar: Sendable {
    public static var defaultFile: URL? { nil }
    public init(file: URL? = nil) {}
    var generation: Int { 0 }
    func field(for url: URL) -> HTTPField? { nil }
    func store(from headers: HTTPHeaders, url: URL, generation: Int) {}
}
