#if os(Linux)
import Foundation

extension CurlEasy {
    /// Sets what is the same for every exchange of a transport.
    func apply(_ configuration: TransportConfiguration) {
        set(.noSignal, 1)
        set(.protocols, 3)
        set(.acceptHTTP09, 0)
        set(.pathAsIs, 1)
        set(.suppressConnectHeaders, 1)
        set(.leaveResolver, 1)
        set(.acceptEncoding, "")
        set(.tlsVersion, 6)
        set(.connectTimeout, Int(configuration.connectTimeout.nanoseconds / 1_000_000))
        closeSocketsOnExec()
        switch configuration.proxy {
        case .environment: break
        case .none: set(.proxy, "")
        case .url(let url): set(.proxy, url.absoluteString)
        }
        if let path = configuration.unixSocketPath { set(.unixSocketPath, path) }
    }

    /// Sets everything that differs from exchange to exchange.
    func apply(_ exchange: CurlExchange) {
        let request = exchange.request
        let isSecure = request.url.scheme?.lowercased() == "https"
        set(.url, request.url.absoluteString)
        set(.headers, exchange.headerList.first)
        set(.httpVersion, isSecure ? 4 : 2)
        set(.waitForMultiplex, isSecure ? 1 : 0)
        applyBody(of: exchange)
        set(.method, request.method.rawValue)
    }

    private func applyBody(of exchange: CurlExchange) {
        set(.noBody, 0)
        set(.get, 1)
        let request = exchange.request
        if request.method == .head {
            set(.noBody, 1)
        } else if request.body.isEmpty && !request.method.promisesBody {
            return
        } else if exchange.sendsBodyFromMemory {
            set(.postSize, exchange.bodyBytes)
            exchange.wholeBody().withUnsafeBytes { set(.post, $0.baseAddress ?? UnsafeRawPointer(pointer)) }
        } else {
            set(.upload, 1)
            set(.uploadSize, exchange.bodyBytes)
        }
    }
}

extension HTTPMethod {
    /// Whether a request without a body says so with `Content-Length: 0` (RFC 9110 section 8.6).
    fileprivate var promisesBody: Bool {
        [.post, .put, .patch].contains(self)
    }
}
#endif
