import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// A folder with a cache and a cookie file, for several proxies, also of other processes.
@MainActor final class CacheFolderScene {
    let folder: TemporaryFolder
    let network = CacheFolderNetwork()
    let errors = CacheErrorRecorder()

    init() throws { folder = try TemporaryFolder() }

    var cacheFolder: URL { folder.url.appending(path: "cache") }
    /// That of the session without a login: the only one.
    var sessionFolder: URL {
        get throws {
            let names = try FileManager.default.contentsOfDirectory(atPath: cacheFolder.path)
            return cacheFolder.appending(path: try #require(names.first { !$0.hasPrefix(".") }))
        }
    }
    var kinds: [APICacheError.Kind] { errors.kinds }

    /// The files of the session and of its folders of variants, relative to it and sorted.
    var files: [String] {
        get throws {
            let paths = try FileManager.default.subpathsOfDirectory(atPath: sessionFolder.path)
            return try paths.filter { try !isFolder($0) }.sorted()
        }
    }

    private func isFolder(_ name: String) throws -> Bool {
        try sessionFolder.appending(path: name).resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true
    }

    /// A proxy of its own, as a process has one, whose jar has the same file.
    func client(
        capacity: Int = 100_000_000,
        jar: CookieJar? = nil,
        cache: APICache? = nil,
        clock: ManualClock = ManualClock()
    ) -> CacheFolderClient {
        let transport = ScriptedTransport { [network] in network.response(to: $0) }
        let proxy = APIProxy(
            service: .sample {
                ($0.envelope, $0.failureReader, $0.baseURL) = (nil, nil, URL("http://shop.test/"))
            },
            transport: transport,
            cookies: jar ?? CookieJar(file: folder.file),
            clock: clock,
            cache: cache ?? APICache(folder: cacheFolder, capacity: capacity)
        )
        proxy.onError = errors.record
        return CacheFolderClient(proxy: proxy)
    }

    /// Stores responses with this tag.
    func store(_ tag: String, _ paths: String..., color: String? = nil) async throws {
        network.tag.withLock { $0 = tag }
        defer { network.tag.withLock { $0 = "network" } }
        let client = client()
        for path in paths { #expect(try await client.load(path, color: color, policy: .reload).tag == tag) }
    }

    /// Sets when the files of a path were used, in seconds since 1970.
    func setLastUse(_ seconds: Int, of path: String) throws {
        let name = CacheKey(CacheFolderClient.url(path)).name
        for file in try files where file.hasPrefix(name) {
            try sessionFolder.appending(path: file).setModificationTime(seconds)
        }
    }
}

/// A network whose responses have the tag of the moment.
final class CacheFolderNetwork: Sendable {
    let tag = Lock("network")
    private let count = Lock(0)
    /// The number of requests that have reached the network.
    var requests: Int { count.withLock { $0 } }

    func response(to request: HTTPRequest) -> HTTPResponse {
        count.withLock { $0 += 1 }
        return CacheFolderAnswer.response(to: request, tag: tag.withLock { $0 })
    }
}

/// Records the errors of caches.
final class CacheErrorRecorder: Sendable {
    private let errors = Lock<[APICacheError]>([])
    var kinds: [APICacheError.Kind] {
        APICache.waitForReports()
        return errors.withLock { $0.map(\.kind) }
    }

    /// For an error hook.
    @Sendable func record(_ error: any Error) {
        guard let error = error as? APICacheError else { return }
        errors.withLock { $0.append(error) }
    }

    /// Those since the last call.
    func take() -> [APICacheError.Kind] {
        APICache.waitForReports()
        return errors.withLock { errors in
            defer { errors = [] }
            return errors.map(\.kind)
        }
    }
}

/// Loads responses of a network that has the same for each URL and tag.
@MainActor struct CacheFolderClient {
    let proxy: APIProxy
    var service: APIService { proxy.defaultService ?? .sample() }

    static func url(_ path: String) -> URL { URL("http://shop.test/\(path)") }

    func load(
        _ path: String,
        color: String? = nil,
        policy: CachePolicy = .http
    ) async throws -> CacheFolderAnswer {
        let request = APIRequest(
            "/" + path,
            headers: ["X-Color": color],
            responseSerializer: ResponseSerializer { response, _ in response },
            options: APIRequestOptions(cachePolicy: policy),
            proxy: proxy
        )
        return CacheFolderAnswer(try await request.value(), path: path, color: color)
    }
}

/// What a load has received.
struct CacheFolderAnswer {
    let tag: String?
    let source: APIResponse.Source
    /// Whether head and body are those of the same response, to the same request.
    let isWhole: Bool

    init(_ response: APIResponse, path: String, color: String?) {
        (tag, source) = (response.headers["X-Tag"], response.source)
        let expected = Self.response(path: "/" + path, color: color, tag: tag ?? "")
        isWhole =
            tag != nil && response.body == expected.body && response.headers["ETag"] == expected.headers["ETag"]
            && response.headers["X-Path"] == expected.headers["X-Path"]
    }

    /// The child process of the tests has the same network.
    static func response(to request: HTTPRequest, tag: String) -> HTTPResponse {
        let query = request.url.query(percentEncoded: true).map { "?\($0)" } ?? ""
        return response(path: request.url.path + query, color: request.headers["X-Color"], tag: tag)
    }

    private static func response(path: String, color: String?, tag: String) -> HTTPResponse {
        let size = path.firstMatch(of: /size=([0-9]+)/).flatMap { Int($0.1) } ?? 100
        let isVaried = path.contains("vary")
        let pattern = Array("\(tag) \(path) \(isVaried ? color ?? "-" : "");".utf8)
        var headers: HTTPHeaders = [
            "Cache-Control": "max-age=1000000", "ETag": "\"\(tag)\"", "X-Tag": tag, "X-Path": path,
        ]
        if isVaried { headers.append("Vary", "X-Color") }
        let body = (0..<size / pattern.count + 1).flatMap { _ in pattern }.prefix(size)
        return HTTPResponse(status: 200, headers: headers, body: Data(body))
    }
}

extension URL {
    func setModificationTime(_ seconds: Int) throws {
        let time = timespec(tv_sec: seconds, tv_nsec: 0)
        let result = [time, time].withUnsafeBufferPointer { utimensat(AT_FDCWD, path, $0.baseAddress, 0) }
        try #require(result == 0)
    }
}

/// A stored response for the tests of a folder alone.
struct CacheFolderSample {
    let key: CacheKey
    let stored: StoredResponse
    let body: Data

    init(_ url: URL, headers: HTTPHeaders = [:], requestHeaders: HTTPHeaders = [:], body: Data) throws {
        let request = HTTPRequest(.get, url, headers: requestHeaders)
        try self.init(CacheKey(url), request, headers: headers, body: body)
    }

    init(_ key: CacheKey, _ request: HTTPRequest, headers: HTTPHeaders, body: Data) throws {
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        let received = HTTPResponse(status: 200, headers: headers, body: body)
        let response = APIResponse(received, to: nil, url: request.url, redirects: [], duration: .zero)
        let stored = StoredResponse(response, to: request, requestDate: date, responseDate: date)
        (self.key, self.stored, self.body) = (key, try #require(stored), body)
    }

    func store(in folder: CacheFolder) throws { _ = try folder.store(stored, .data(body), key) }
}

extension CacheFolder {
    /// The folder `session` of a temporary folder.
    convenience init(
        in folder: TemporaryFolder,
        report: @escaping @Sendable (APICacheError) -> Void = { Issue.record("\($0)") }
    ) throws {
        try self.init(folder.url.appending(path: "session").path, name: "session", report: report)
    }

    /// The bodies that are stored under a key, `nil` for damaged ones.
    func bodies(_ key: CacheKey) -> [Data?] { entries(key).map { $0.body.data() } }
}

#if os(Linux)
/// The limit of open descriptors of a child process.
enum CacheDescriptorLimit {
    /// Calls `body` while as many descriptors can be opened, none or one.
    static func withFree(_ count: CInt, _ body: () throws -> Void) throws {
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        let lowest = open("/dev/null", O_RDONLY | O_CLOEXEC)
        close(lowest)
        var former = rlimit()
        try #require(lowest >= 0 && getrlimit(kind, &former) == 0)
        var limit = former
        limit.rlim_cur = rlim_t(lowest + count)
        try #require(setrlimit(kind, &limit) == 0)
        defer { setrlimit(kind, &former) }
        try body()
    }
}
#endif
