import Foundation

/// A request as JSON, for tests that check what arrived.
package struct RequestEcho: Codable, Sendable, Equatable {
    /// The method as it was written.
    package let method: String
    /// The target as it was written.
    package let target: String
    /// The names and values of the query, decoded.
    package let args: [FormItem]
    /// The header lines as `[name, value]`, in order.
    package let headers: [[String]]
    /// The body in base64.
    package let bodyBase64: String
    /// The body as text.
    package let bodyText: String
    /// The number of bytes of the body.
    package let bodyCount: Int64
    /// The number of the connection, counted from 1.
    package let connection: Int

    /// Creates the echo of a request.
    package init(_ request: RecordedRequest) {
        method = request.method
        target = request.target
        args = request.queryItems
        headers = request.headers.map { [$0.name, $0.value] }
        bodyBase64 = Data(request.body).base64EncodedString()
        bodyText = request.text
        bodyCount = request.bodyCount
        connection = request.connection
    }
}
