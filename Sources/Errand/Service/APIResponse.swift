public import Foundation

/// The raw response of a load, after redirects.
public struct APIResponse: Sendable {
    /// Where a response comes from.
    public enum Source: Sendable {
        /// The server has sent it.
        case network
        /// It was stored, and nothing was sent for it.
        case cache
        /// It was stored, and the server has confirmed it with a 304.
        case validated
    }

    private struct Contents: Sendable {
        let url: URL
        /// Its file is not used.
        var response: HTTPResponse
        var file: FileLocation?
        let redirects: [URL]
        let duration: Duration
        var statement: ServerFailure?
        var requestID: RequestID?
        var source = Source.network
        var age: Duration?
        var forget: (@Sendable () -> Void)?
        /// By the type of the elements that a lenient decoder has left out.
        var skipped: [SkippedElements]?
        /// By the clock of the proxy; `nil` if that is not known.
        var receivedAt: Duration?
    }

    // Boxed, because an asynchronous function reserves memory for each response that it may return.
    @Boxed private var contents: Contents

    /// The URL that sent the response, after all redirects.
    public var url: URL { contents.url }
    /// The HTTP status code.
    public var status: Int {
        get { contents.response.status }
        set { contents.response.status = newValue }
    }
    /// The header lines in the order received, duplicates included.
    public var headers: HTTPHeaders {
        get { contents.response.headers }
        set { contents.response.headers = newValue }
    }
    /// The body, with content codings such as gzip removed; empty if the body is stored in ``file``.
    public var body: Data {
        get { contents.response.body }
        set { contents.response.body = newValue }
    }
    /// The file that contains the body, if the response is stored in a file; see ``BaseAPIRequest/destination``.
    ///
    /// Until the load succeeds, this is a temporary file in the same folder, which then replaces the file at the destination.
    public var file: URL? { contents.file?.url }
    var fileLocation: FileLocation? { contents.file }
    /// The URLs that redirected the request, in order.
    public var redirects: [URL] { contents.redirects }
    /// The time from sending to the last byte of the response, redirects included.
    public var duration: Duration { contents.duration }
    /// The durations of the phases of the last request, without earlier redirects; `nil` if the transport measures none.
    public internal(set) var timings: ExchangeTimings? {
        get { contents.response.timings }
        set { contents.response.timings = newValue }
    }

    /// Where the response comes from; `network` without an ``APICache``, and `cache` when a `loadIfNeeded` has ended with the
    /// response that there was.
    public var source: Source { contents.source }
    /// How old a stored response was when it was used; `nil` for one of the network.
    public var age: Duration? { contents.age }
    /// Removes what is stored of it; `nil` if nothing is.
    package var forget: (@Sendable () -> Void)? { contents.forget }
    var receivedAt: Duration? { contents.receivedAt }

    /// Whether the body was passed on while it arrived, and is neither in memory nor in a file.
    package var isStreamed: Bool { contents.response.isStreamed && file == nil }

    /// The ID of the load that received the response; `nil` if no load received it.
    public var requestID: RequestID? { contents.requestID }
    /// The business code in the body, also of a success; `nil` if the body has none or has not been decoded yet.
    public var serverCode: ServerCode? { contents.statement?.code }
    /// The server's message in the body, also of a success; `nil` if the body has none or has not been decoded yet.
    public var serverMessage: String? { contents.statement?.message }

    /// Creates a response from a transport's response, for example to test a validator or a strategy.
    ///
    /// - Parameters:
    ///   - response: The transport's response, without followed redirects.
    ///   - url: The URL that sent the response.
    ///   - redirects: The URLs that redirected to it; none by default.
    ///   - duration: The time from sending to the last byte; none by default.
    public init(_ response: HTTPResponse, url: URL, redirects: [URL] = [], duration: Duration = .zero) {
        contents = Contents(
            url: url,
            response: response,
            file: response.file.map { FileLocation($0) },
            redirects: redirects,
            duration: duration
        )
    }

    /// `id` is `nil` for several loads that share an exchange.
    init(
        _ response: HTTPResponse,
        to id: RequestID?,
        url: URL,
        redirects: [URL] = [],
        duration: Duration = .zero,
        receivedAt: Duration? = nil
    ) {
        self.init(response, url: url, redirects: redirects, duration: duration)
        contents.requestID = id
        contents.receivedAt = receivedAt
    }

    func withStatement(_ statement: ServerFailure?) -> APIResponse {
        guard statement != nil || contents.statement != nil else { return self }
        return with { $0.statement = statement }
    }
    func withStatement(of other: APIResponse) -> APIResponse { withStatement(other.contents.statement) }

    /// This response as that of a load; its timings have the number of the try, and for the first one the time in the queue.
    ///
    /// Unchanged if it is that of another load, as in an error that an app throws once more.
    func withLoad(_ id: RequestID, attempt: Int, queueTime: Duration?) -> APIResponse {
        guard requestID == nil || requestID == id else { return self }
        // A copy costs more than the rest.
        if requestID == id, timings == nil { return self }
        return with {
            $0.requestID = id
            $0.response.timings = $0.response.timings?.withAttempt(attempt, queueTime: queueTime)
        }
    }

    /// A stored response when it is used at `uptime`.
    func from(_ source: Source, age: Duration, at uptime: Duration = .zero) -> APIResponse {
        with { ($0.source, $0.age, $0.receivedAt) = (source, age, uptime - age) }
    }
    func forgotten(by forget: (@Sendable () -> Void)?) -> APIResponse {
        forget == nil ? self : with { $0.forget = forget }
    }

    func skippedElements(of type: any Any.Type, kept: Int) -> Int {
        contents.skipped?.count(of: type, kept: kept) ?? 0
    }

    func withSkipped(_ skipped: [SkippedElements]) -> APIResponse {
        skipped.isEmpty ? self : with { $0.skipped = skipped }
    }

    /// Its body has been passed on.
    var streamed: APIResponse { with { ($0.response.body, $0.response.isStreamed) = (Data(), true) } }

    func withContent(body: Data = Data(), file: FileLocation? = nil) -> APIResponse {
        with { ($0.response.body, $0.file) = (body, file) }
    }

    private func with(_ change: (inout Contents) -> Void) -> APIResponse {
        var response = self
        change(&response.contents)
        return response
    }
    var withoutFile: APIResponse { file == nil ? self : withContent(body: body) }

    /// An adapter has made this response from `other`, which has the location of the same file.
    func withFile(of other: APIResponse) -> APIResponse {
        guard let file, file == other.file, fileLocation !== other.fileLocation else { return self }
        return with { $0.file = other.fileLocation }
    }

    /// The body decoded as UTF-8, without a byte order mark and with U+FFFD for invalid bytes (Encoding Standard, UTF-8 decode).
    public var text: String { String(decoding: body.withoutByteOrderMark, as: UTF8.self) }

    /// Whether the status is 2xx.
    public var isSuccess: Bool { (200..<300).contains(status) }

    var isJSON: Bool { headers.isJSON }
}

extension APIResponse: RedactedDescription {
    /// The status and the size, without the contents.
    public var description: String { "HTTP \(status), \(body.count) bytes" }
}

/// Where the file of a response is, the same for all values that name it, also inside values of the app.
///
/// It is beside its target until the load succeeds, which moves it.
final class FileLocation: Sendable {
    private let state: Lock<(url: URL, target: URL)>

    init(_ url: URL, target: URL? = nil) { state = Lock((url, target ?? url)) }

    var url: URL { state.withLock(\.url) }
    /// Where the file will be; not known before it is moved there if the load chooses its name.
    var target: URL { state.withLock(\.target) }

    func didMove(to target: URL) { state.withLock { $0 = (target, target) } }
}
