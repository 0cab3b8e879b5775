extension HTTPHeaders {
    /// The length of the decoded body behind the head of an answer, where the head tells it.
    ///
    /// - Throws: ``TransportError/Kind/badResponse`` when the head tells two different lengths (RFC 9110 section 8.6).
    func answerLength(status: Int, to method: HTTPMethod) throws(TransportError) -> Int64? {
        let told = values("Content-Length").flatMap { $0.split(separator: ",") }
        let lengths = Set(told.map { Int64($0.trimmingBlanks) })
        guard lengths.count <= 1 else { throw TransportError(.badResponse, "the answer has two lengths") }
        let hasBody = method != .head && status != 204 && status != 304
        let isPlain = self["Content-Encoding"] == nil && self["Transfer-Encoding"] == nil
        return hasBody && isPlain ? lengths.first ?? nil : nil
    }
}
