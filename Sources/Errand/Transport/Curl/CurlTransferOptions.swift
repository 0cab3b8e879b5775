#if os(Linux)
import CurlRuntime
import Foundation

extension CurlEasy {
    /// Returns whether libcurl reports connections before it sends requests (7.80).
    func setCallbacks() -> Bool {
        typealias Function = CurlOption<CurlFunction>
        curlrt_easy_set_transfer(pointer, Function.headerFunction.number, headerFunction)
        curlrt_easy_set_transfer(pointer, Function.writeFunction.number, writeFunction)
        curlrt_easy_set_transfer(pointer, Function.readFunction.number, readFunction)
        curlrt_easy_set_seek(pointer, Function.seekFunction.number, seekFunction)
        return curlrt_easy_set_prereq(pointer, Function.prereqFunction.number, prereqFunction) == 0
    }

    /// An unretained ``CurlHandle``.
    func setCallbackContext(_ context: UnsafeRawPointer) {
        let options: [CurlOption<UnsafeRawPointer>] = [
            .private, .headerData, .writeData, .readData, .seekData, .prereqData,
        ]
        for option in options { set(option, to: context) }
    }

    /// Throws when this libcurl rejects a setting of the configuration.
    func apply(_ settings: CurlSettings) throws(TransportError) {
        let configuration = settings.configuration
        set(.noSignal, to: 1)
        set(.protocols, to: CurlValue.protocolsHTTPAndHTTPS)
        set(.http09Allowed, to: 0)
        set(.pathAsIs, to: 1)
        try setRequired(.maxAgeConn, to: Int(configuration.wholeIdleConnectionAge.components.seconds))
        set(.suppressConnectHeaders, to: 1)
        set(.acceptEncoding, to: ContentCoding.accepted.isEmpty ? nil : ContentCoding.accepted)
        set(.httpContentDecoding, to: 0)
        set(.quickExit, to: 1)
        // libcurl uses its default of 300 seconds for 0.
        let connectTimeout =
            settings.limitsConnects ? .max : configuration.connectTimeout.clampedNanoseconds / 1_000_000
        try setRequired(.connectTimeoutMS, to: Int(min(max(1, connectTimeout), Int64(Int32.max))))
        try apply(configuration.proxy)
        if let path = configuration.unixSocketPath { try setRequired(.unixSocketPath, to: path) }
        try applyTLS(of: configuration)
        try applyAuthorities(settings)
    }

    private func apply(_ proxy: TransportConfiguration.Proxy) throws(TransportError) {
        switch proxy {
        case .environment: return
        case .none: try setRequired(.proxy, to: "")
        case .url(let url): try setRequired(.proxy, to: url.absoluteString)
        }
        // Without it, libcurl reads the environment's exclusions, and applies them to a proxy of the configuration.
        try setRequired(.noProxy, to: "")
    }

    /// Also for an `https` proxy server.
    private func applyAuthorities(_ settings: CurlSettings) throws(TransportError) {
        guard let path = settings.caBundle.path else { return }
        try setRequired(.caInfo, to: path)
        set(.caPath, to: nil)
        guard settings.configuration.proxy.isPossible else { return }
        try setRequired(.proxyCAInfo, to: path)
        set(.proxyCAPath, to: nil)
    }

    private func applyTLS(of configuration: TransportConfiguration) throws(TransportError) {
        let tls = configuration.tls
        let isTLS1_3 = tls.minimumVersion == .v1_3
        let version = isTLS1_3 ? CurlValue.sslVersionTLSv1_3 : CurlValue.sslVersionTLSv1_2
        try setRequired(.sslVersion, to: version)
        if configuration.proxy.isPossible { try setRequired(.proxySSLVersion, to: version) }
        for pins in tls.pinnedPublicKeys.values { try setPinnedPublicKeys(pins) }
        if let identity = tls.clientIdentity { try setClientIdentity(identity) }
    }

    /// None for any key.
    func setPinnedPublicKeys(_ pins: [String]) throws(TransportError) {
        try setRequired(.pinnedPublicKey, to: pins.isEmpty ? nil : pins.joined(separator: ";"))
    }

    /// libcurl shares neither connections nor TLS sessions between transfers with different identities.
    func setClientIdentity(_ identity: ClientIdentity?) throws(TransportError) {
        try setRequired(.sslCert, to: identity?.certificate.path)
        try setRequired(.sslCertType, to: identity?.isPKCS12 == true ? "P12" : "PEM")
        try setRequired(.sslKey, to: identity?.privateKey?.path)
        // Without one, OpenSSL asks for it on the terminal; GnuTLS takes an empty one for that of an encrypted key.
        let noPassword = CurlLibrary.asksForPasswords ? "" : nil
        try setRequired(.keyPasswd, to: identity.flatMap { $0.password ?? noPassword })
    }

    /// Without the text a request could be sent to another server, or to an unverified one.
    private func setRequired(_ option: CurlOption<String>, to value: String?) throws(TransportError) {
        guard set(option, to: value) else { throw rejection(of: option.name) }
    }

    /// Without the number a setting of the configuration would have no effect.
    private func setRequired(_ option: CurlOption<Int>, to value: Int) throws(TransportError) {
        guard set(option, to: value) else { throw rejection(of: option.name) }
    }

    private func rejection(of option: String) -> TransportError {
        TransportError(.invalidRequest, "libcurl \(CurlLibrary.version) rejects the value of \(option)")
    }

    func apply(_ exchange: CurlExchange) {
        let request = exchange.request
        set(.url, to: exchange.url.text)
        set(.httpHeader, to: exchange.headerList.first)
        applyBody(of: exchange)
        set(.forbidReuse, to: request.leavesNoConnection ? 1 : 0)
        set(.customRequest, to: request.method.rawValue)
    }

    private func applyBody(of exchange: CurlExchange) {
        set(.noBody, to: 0)
        set(.httpGet, to: 1)
        let request = exchange.request
        if request.method == .head {
            set(.noBody, to: 1)
        } else if let memory = exchange.upload.memory {
            set(.postFieldSizeLarge, to: exchange.upload.totalBytes ?? 0)
            set(.postFields, to: memory.baseAddress)
        } else if !request.body.isEmpty {
            set(.upload, to: 1)
            // Without a length, libcurl sends chunks over HTTP/1.1.
            set(.inFileSizeLarge, to: exchange.upload.totalBytes ?? -1)
        }
    }
}

extension HTTPRequest {
    /// Whether no other request may follow on the connection (RFC 9112 section 9.6).
    ///
    /// A server that responds before it has asked for the body may wait for that, or not; libcurl sends the next request.
    fileprivate var leavesNoConnection: Bool {
        if headers["Expect"] != nil, !body.isEmpty { return true }
        let tokens = headers.values("Connection").flatMap { $0.lowercased().split { " ,\t".contains($0) } }
        return tokens.contains("close")
    }
}

// MARK: Callbacks

private let headerFunction: curlrt_transfer_function = { bytes, size, count, context in
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return exchange(context)?.receive(headerLine: line) == true ? line.count : CurlValue.writeError
}

private let writeFunction: curlrt_transfer_function = { bytes, size, count, context in
    let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return exchange(context)?.receive(body: part) ?? CurlValue.writeError
}

private let readFunction: curlrt_transfer_function = { bytes, size, count, context in
    let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    return exchange(context)?.readBody(into: buffer) ?? CurlValue.readAbort
}

/// Only the start of the body is supported.
private let seekFunction: curlrt_seek_function = { context, offset, origin in
    guard offset == 0, origin == SEEK_SET else { return 1 }
    return exchange(context)?.rewindBody() == true ? 0 : 1
}

private let prereqFunction: curlrt_prereq_function = { context, _, _, _, localPort in
    CurlHandle.at(context)?.beginAttempt(fromPort: localPort) == true ? 0 : 1
}

private func exchange(_ context: UnsafeMutableRawPointer?) -> CurlExchange? {
    CurlHandle.at(context)?.exchange
}

extension CurlHandle {
    static func at(_ context: UnsafeMutableRawPointer?) -> CurlHandle? {
        context.map { Unmanaged<CurlHandle>.fromOpaque($0).takeUnretainedValue() }
    }
}
#endif
