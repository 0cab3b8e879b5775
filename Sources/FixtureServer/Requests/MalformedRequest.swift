/// Why a request is not valid HTTP/1.1, and the status of the response.
struct MalformedRequest: Error {
    let status: Int
    let reason: String

    init(_ reason: String, status: Int = 400) {
        self.status = status
        self.reason = reason
    }
}
