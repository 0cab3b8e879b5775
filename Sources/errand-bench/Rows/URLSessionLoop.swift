import Errand
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Bare URLSession, configured only to be comparable: no cache, no cookies.
struct URLSessionLoop: RequestLoop {
    private let session: URLSession
    private let url: URL
    private let isAsync: Bool
    private let decoder = JSONDecoder()

    init(_ url: URL, isAsync: Bool) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.httpMaximumConnectionsPerHost = Connections.limit
        session = URLSession(configuration: configuration)
        self.url = url
        self.isAsync = isAsync
    }

    func run(requests: Int, concurrency: Int) async throws {
        if isAsync {
            try await Countdown(requests).share(among: concurrency) { [session, url, decoder] in
                let (body, _) = try await session.data(for: URLRequest(url: url))
                try Goods.check(body, decoder)
            }
        } else {
            try await withCheckedThrowingContinuation { continuation in
                let chain = Chain(session, url, decoder, requests) { continuation.resume(with: $0) }
                for _ in 0..<min(concurrency, requests) { chain.next() }
            }
        }
    }
}

/// Requests that begin in the completion handlers of others.
private final class Chain: Sendable {
    private let session: URLSession
    private let url: URL
    private let decoder: JSONDecoder
    private let toBegin: Countdown
    private let toEnd: Mutex<Int>
    private let ended: @Sendable (Result<Void, any Error>) -> Void

    init(
        _ session: URLSession,
        _ url: URL,
        _ decoder: JSONDecoder,
        _ requests: Int,
        ended: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        self.session = session
        self.url = url
        self.decoder = decoder
        toBegin = Countdown(requests)
        toEnd = Mutex(requests)
        self.ended = ended
    }

    func next() {
        guard toBegin.take() else { return }
        session.dataTask(with: URLRequest(url: url)) { [self] body, _, error in
            let result = Result {
                if let error { throw error }
                try Goods.check(body ?? Data(), decoder)
            }
            took(result)
        }.resume()
    }

    private func took(_ result: Result<Void, any Error>) {
        let rest = toEnd.withLock { rest in
            rest = if case .success = result { rest - 1 } else { min(rest, 0) - 1 }
            return rest
        }
        if case .failure = result { return rest == -1 ? ended(result) : () }
        rest == 0 ? ended(result) : next()
    }
}
