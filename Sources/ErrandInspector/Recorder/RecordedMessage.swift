import Errand
import Foundation

/// A request as it was recorded: without the observer of ``HTTPRequest``, which would keep its load alive.
struct RecordedRequest: Sendable {
    let method: HTTPMethod
    let url: URL
    let headers: HTTPHeaders
    let body: RecordedBody?
    let byteCount: Int

    init(_ request: HTTPRequest, bodyLimit: Int) {
        method = request.method
        url = request.url
        headers = request.headers
        body = RecordedBody(request.body, limit: bodyLimit)
        byteCount = headers.byteCount + (body?.kept.count ?? 0) + url.absoluteString.utf8.count
    }
}

struct RecordedHead: Sendable {
    let status: Int
    let headers: HTTPHeaders
}

struct RecordedResponse: Sendable {
    let url: URL?
    let head: RecordedHead
    let body: RecordedBody
    let timings: ExchangeTimings?
    /// Of a stored response when it was used; `nil` for one of the network.
    let age: Duration?

    init(_ response: HTTPResponse, bodyLimit: Int) {
        (url, age) = (nil, nil)
        head = RecordedHead(status: response.status, headers: response.headers)
        body = RecordedBody(response.body, limit: bodyLimit, isInFile: response.file != nil, response.isStreamed)
        timings = response.timings
    }

    init(_ response: APIResponse, bodyLimit: Int) {
        (url, age) = (response.url, response.age)
        head = RecordedHead(status: response.status, headers: response.headers)
        body = RecordedBody(response.body, limit: bodyLimit, isInFile: response.file != nil, response.isStreamed)
        timings = response.timings
    }

    var byteCount: Int { head.headers.byteCount + body.kept.count }
}

struct RecordedBody: Sendable {
    /// The bytes in memory, in their order, up to the limit.
    let kept: Data
    /// The bytes of the whole body; `nil` if they are in a file or a stream.
    let length: Int64?
    /// What is not in `kept` because it was never in memory.
    let omitted: [Omitted]
    var place = Place.memory

    /// Whether bytes in memory were removed because of the limit.
    let isCut: Bool

    enum Place {
        case memory, file
        /// Passed on while they arrived.
        case stream
    }

    /// Not the piece, whose closure would keep what the app has captured.
    enum Omitted: Sendable {
        case file(URL)
        /// Its description.
        case stream(String)
    }

    init(_ data: Data, limit: Int, isInFile: Bool, _ isStreamed: Bool) {
        // The beginning is copied: a slice would keep all bytes in memory.
        kept = data.count > limit ? Data(Array(data.prefix(limit))) : data
        place = isInFile ? .file : isStreamed ? .stream : .memory
        length = place == .memory ? Int64(data.count) : nil
        isCut = data.count > limit
        omitted = []
    }

    /// `nil` for a request without a body.
    init?(_ body: HTTPBody, limit: Int) {
        if body.isEmpty { return nil }
        var (bytes, count) = (Data(), Int64(0))
        var omitted: [Omitted] = []
        for piece in body.pieces {
            switch piece {
            case .file(let file): omitted.append(.file(file))
            case .stream(let stream): omitted.append(.stream("\(stream)"))
            case .data(let data):
                // Copied, because the app may have cut the bytes out of more.
                bytes.append(contentsOf: data.prefix(limit - bytes.count))
                count += Int64(data.count)
            }
        }
        (kept, length, isCut) = (bytes, omitted.isEmpty ? count : nil, count > Int64(bytes.count))
        self.omitted = omitted
    }
}

extension HTTPHeaders {
    var byteCount: Int { reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 } }
}
