import Foundation

/// A request as JSON, for tests that ask what arrived.
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
    /// How many bytes the body had.
    package let bodyCount: Int64
    /// The number of the connection.
    package let connection: Int

    /// The echo of a request.
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
