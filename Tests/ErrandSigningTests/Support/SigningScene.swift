import Errand
import ErrandTesting
import Foundation
import TestSupport

@testable import ErrandSigning

/// A proxy whose service signs, with a clock that the test advances.
struct SigningScene: Sendable {
    /// The date of the clock at its start.
    static let start = Date(timeIntervalSince1970: 1_700_000_000)

    let clock = ManualClock(date: start)
    let transport: ScriptedTransport
    let service: APIService
    let proxy: APIProxy

    init(_ script: @escaping ScriptedTransport.Script = { _ in .json("{}") }, _ change: (inout APIService) -> Void) {
        transport = ScriptedTransport(fallback: script)
        guard let url = URL(string: "https://shop.test/api") else { preconditionFailure("no URL") }
        var service = APIService(baseURL: url)
        service.envelope = nil
        service.retryPolicy = .never
        change(&service)
        self.service = service
        proxy = APIProxy(service: service, transport: transport, clock: clock)
    }

    func load(
        _ path: String = "/goods",
        _ method: HTTPMethod = .get,
        _ params: APIParams? = nil,
        options: APIRequestOptions = APIRequestOptions()
    ) async throws {
        _ = try await APIRequest<Data>(path, method: method, params: params, options: options, proxy: proxy).value()
    }

    /// Returns the error with which a load fails.
    func failure(_ path: String = "/goods", _ method: HTTPMethod = .get, _ params: APIParams? = nil) async -> APIError?
    {
        do {
            try await load(path, method, params)
            return nil
        } catch {
            return error as? APIError
        }
    }
}

/// A list whose server makes the link to the next page from the URL that was requested, as Django REST framework does.
final class NotesRequest: PageAPIRequest<[Int]>, APIManager {
    let path = "/notes"
    let method = HTTPMethod.get
    override var strategy: any PageStrategy { .link }

    /// Pages 1 to 3, each with its number.
    nonisolated static func linkedPage(_ request: HTTPRequest) throws -> HTTPResponse {
        let (page, url) = (Int(request.pairs()["page"] ?? "1") ?? 1, request.url.absoluteString)
        let next = page == 1 ? url + "&page=2" : url.replacing("page=\(page)", with: "page=\(page + 1)")
        return .json("[\(page)]", headers: page < 3 ? ["Link": "<\(next)>; rel=\"next\""] : [:])
    }
}

/// Numbers that are used one after the other instead of random nonces.
final class NonceSequence: Sendable {
    private let last = Lock(0)

    var next: @Sendable () -> String {
        {
            let number = self.last.withLock { last in
                last += 1
                return last
            }
            return "nonce-\(number)"
        }
    }
}

extension RetryPolicy {
    /// Sends a load again once.
    static let once: RetryPolicy = {
        var policy = RetryPolicy()
        policy.maxRetries = 1
        return policy
    }()
}

extension HTTPRequest {
    /// The names and values of the query or of a form body, decoded.
    func pairs(in text: String? = nil) -> [String: String] {
        let text = text ?? url.query(percentEncoded: true) ?? ""
        let pairs = text.split(separator: "&").map { item in
            item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                $0.replacing("+", with: " ").removingPercentEncoding ?? ""
            }
        }
        return Dictionary(pairs.map { ($0[0], $0[1]) }) { $1 }
    }

    /// The bytes of the body.
    var bodyData: Data {
        body.pieces.reduce(into: Data()) { data, piece in
            if case .data(let bytes) = piece { data += bytes }
        }
    }
}

/// The program `openssl`.
enum OpenSSL {
    static let path = ["/usr/bin/openssl", "/usr/local/bin/openssl", "/opt/homebrew/bin/openssl"]
        .first { ChildProcesses.areAllowed && FileManager.default.isExecutableFile(atPath: $0) }

    /// Returns the digest of a text in hexadecimal digits.
    static func digest(_ algorithm: ParamSigning.Algorithm, of text: String, secret: String) throws -> String {
        let options =
            switch algorithm {
            case .md5: ["-md5"]
            case .sha1: ["-sha1"]
            case .sha256: ["-sha256"]
            case .hmacSHA256: ["-sha256", "-hmac", secret]
            }
        let file = FileManager.default.temporaryDirectory.appending(path: "errand-signed-\(UUID())")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(filePath: path ?? "")
        process.arguments = ["dgst"] + options + ["-r", file.path(percentEncoded: false)]
        process.standardOutput = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(String(decoding: output, as: UTF8.self).prefix { $0 != " " })
    }
}
