import Foundation

/// Which redirects are followed (RFC 9110 section 15.4).
///
/// If the policy refuses a redirect, or if `Location` is empty or only a fragment, the redirect is the response of the request,
/// with its status and its `Location`.
///
/// If the number of redirects exceeds the limit, or two `Location` lines differ, the request fails with
/// ``TransportError/Kind/badResponse``. A redirect to a URL that was already requested with the same method and body fails in the
/// same way at once, because the server would redirect it again; but a `GET`, `HEAD` or `OPTIONS` is sent again if its cookies have
/// changed, as after a login.
///
/// If it is followed, a redirect from `https` to `http`, or one that would send a body to another origin, fails with
/// ``TransportError/Kind/security``, and another origin receives no secret header. The body of a redirect that is followed does not
/// matter.
public struct RedirectPolicy: Sendable {
    /// `nil` to follow none.
    let limit: Int?

    /// Follows at most 20 redirects; the default.
    public static let follow = follow(limit: 20)

    /// Follows no redirect.
    public static let refuse = RedirectPolicy(limit: nil)

    /// Follows at most `limit` redirects; with 0, the first redirect fails the request, whereas ``refuse`` returns it as the
    /// response.
    public static func follow(limit: Int) -> RedirectPolicy { RedirectPolicy(limit: max(0, limit)) }
}

extension HTTPRequest {
    /// The body of such a response is not that of the final one.
    func mayFollow(_ status: Int) -> Bool {
        redirectPolicy.limit != nil && [301, 302, 303, 307, 308].contains(status)
    }

    /// Whether a response with this head is a redirect that is followed, whatever its body is.
    package func follows(_ status: Int, _ headers: @autoclosure () -> HTTPHeaders) -> Bool {
        mayFollow(status) && headers().location != nil
    }

    /// Returns `nil` when the response is not a redirect, or the policy does not follow it.
    ///
    /// A `Location` that is empty, blank or a fragment alone names no other resource, and is no redirect, as in curl.
    ///
    /// The method changes as in RFC 9110 section 15.4: 303 becomes GET, and so does POST on 301 and 302; 307 and 308 keep
    /// method and body. Without its body, a request also loses the headers that describe the body. Another origin (RFC 6454)
    /// receives only headers that cannot be secret, and never a body.
    func redirected(by response: HTTPResponse) throws(TransportError) -> HTTPRequest? {
        guard mayFollow(response.status), let location = response.headers.location else { return nil }
        guard response.headers.fields(named: "Location").allSatisfy({ $0.bytes == location.bytes }) else {
            throw TransportError(.badResponse, "the response has two locations")
        }
        var next = self
        next.url = try target(of: location)
        next.changeMethod(for: response.status)
        guard !next.url.hasSameOrigin(as: url) else { return next }
        guard next.body.isEmpty else { throw refusal(of: next.url, "would have sent the body to another origin") }
        return next.withoutSecretHeaders()
    }

    func withoutSecretHeaders() -> HTTPRequest {
        var request = self
        request.headers = HTTPHeaders(headers.filter(\.mayCrossOrigins))
        return request
    }

    private func target(of location: HTTPField) throws(TransportError) -> URL {
        guard let target = URLReference(location.bytes)?.resolved(against: url) else {
            throw TransportError(.badResponse, "a redirect's Location is not a URL")
        }
        guard target.scheme == "https" || target.scheme == "http" else { throw refusal(of: target, "leaves HTTP") }
        guard target.scheme == "https" || url.scheme?.lowercased() != "https" else {
            throw refusal(of: target, "leads from https to http")
        }
        return target
    }

    private func refusal(of target: URL, _ reason: String) -> TransportError {
        TransportError(.security, "a redirect from \(url.originText) to \(target.originText) \(reason)")
    }

    private mutating func changeMethod(for status: Int) {
        let becomesGet = status == 303 && method != .head || status < 303 && method == .post
        guard becomesGet else { return }
        method = .get
        body = .empty
        headers = HTTPHeaders(headers.filter { !$0.describesBody })
    }
}

extension HTTPHeaders {
    /// `nil` for one that names no other resource.
    fileprivate var location: HTTPField? {
        fields(named: "Location").first.flatMap { field in
            [nil, UInt8(ascii: "#")].contains(field.bytes.trimmingBlanks.first) ? nil : field
        }
    }
}

extension HTTPField {
    /// RFC 9110 section 15.4.
    fileprivate var describesBody: Bool {
        let name = name.lowercased()
        return name.hasPrefix("content-")
            || ["digest", "expect", "last-modified", "repr-digest", "trailer", "transfer-encoding"].contains(name)
    }

    /// The header describes the requested content and cannot identify the client.
    fileprivate var mayCrossOrigins: Bool {
        [
            "accept", "accept-encoding", "accept-language", "cache-control", "if-match", "if-modified-since",
            "if-none-match", "if-range", "if-unmodified-since", "last-event-id", "range", "user-agent",
        ].contains(name.lowercased())
    }
}
