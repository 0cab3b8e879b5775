#if os(Linux)
import Foundation

extension CurlEasy {
    /// Sets the functions that libcurl calls; answers whether it will tell of connections (7.80).
    func setCallbacks() -> Bool {
        set(.header, curlTakesHeader)
        set(.write, curlTakesBody)
        set(.read, curlWantsBody)
        set(.seek, curlRewindsBody)
        return set(.ready, curlIsReady)
    }

    /// Sets what those functions are given.
    func setContext(_ context: UnsafeRawPointer) {
        set(.context, context)
        set(.headerContext, context)
        set(.writeContext, context)
        set(.readContext, context)
        set(.seekContext, context)
        set(.readyContext, context)
    }

    /// Sets what is the same for every exchange of a transport.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` when this libcurl does not take what the configuration asks for.
    func apply(_ configuration: TransportConfiguration, _ trust: CurlTrust) throws(TransportError) {
        set(.noSignal, 1)
        set(.protocols, CurlValue.webProtocols)
        set(.acceptHTTP09, 0)
        set(.pathAsIs, 1)
        set(.idleConnectionAge, Int(configuration.idleConnectionAge.components.seconds))
        set(.suppressConnectHeaders, 1)
        set(.acceptEncoding, ContentCoding.accepted.isEmpty ? nil : ContentCoding.accepted)
        set(.contentDecoding, 0)
        set(.leaveResolver, 1)
        // A 0 would be libcurl's own 300 seconds.
        set(.connectTimeout, max(1, Int(configuration.connectTimeout.clampedNanoseconds / 1_000_000)))
        switch configuration.proxy {
        case .environment: break
        case .none: try require(.proxy, "")
        case .url(let url): try require(.proxy, url.absoluteString)
        }
        try require(.unixSocketPath, configuration.unixSocketPath)
        try apply(configuration.tls)
        guard let path = trust.path else { return }
        try require(.certificateAuthorityFile, path)
        set(.certificateAuthorityDirectory, nil)
    }

    private func apply(_ configuration: TLSConfiguration) throws(TransportError) {
        let version = configuration.minimumVersion == .v1_3 ? CurlValue.tls1_3 : CurlValue.tls1_2
        guard set(.tlsVersion, version) else { throw refusal(of: "SSLVERSION") }
        let pins = configuration.pinnedPublicKeys
        try require(.pinnedPublicKeys, pins.isEmpty ? nil : pins.joined(separator: ";"))
        if let identity = configuration.clientIdentity { try present(identity) }
    }

    /// Sets the identity that a server is shown when it asks for one; `nil` for none.
    ///
    /// libcurl shares neither a connection nor a TLS session between transfers with different identities.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` when this libcurl does not take it.
    func present(_ identity: ClientIdentity?) throws(TransportError) {
        let isPKCS12 = ["p12", "pfx"].contains(identity?.certificate.pathExtension.lowercased())
        let values: [(CurlOption<String>, String?)] = [
            (.clientCertificate, identity?.certificate.path), (.clientCertificateType, isPKCS12 ? "P12" : "PEM"),
            (.clientKey, identity?.privateKey?.path), (.clientKeyPassword, identity?.password),
        ]
        for (option, value) in values {
            guard set(option, value) else { throw refusal(of: option.name) }
        }
    }

    /// Sets text without which a transfer would go another way, or to another server, than it was told.
    private func require(_ option: CurlOption<String>, _ value: String?) throws(TransportError) {
        guard let value else { return }
        guard set(option, value) else { throw refusal(of: option.name) }
    }

    private func refusal(of option: String) -> TransportError {
        TransportError(.invalidRequest, "libcurl \(CurlLibrary.version) does not take what is set as \(option)")
    }

    /// Sets everything that differs from exchange to exchange.
    func apply(_ exchange: CurlExchange) {
        let request = exchange.request
        set(.url, exchange.url)
        set(.headers, exchange.headerList.first)
        applyBody(of: exchange)
        set(.method, request.method.rawValue)
    }

    private func applyBody(of exchange: CurlExchange) {
        set(.noBody, 0)
        set(.get, 1)
        let request = exchange.request
        if request.method == .head {
            set(.noBody, 1)
        } else if let memory = exchange.upload.memory {
            set(.postSize, Int64(exchange.upload.totalBytes))
            set(.post, memory.baseAddress)
        } else if !request.body.isEmpty {
            set(.upload, 1)
            set(.uploadSize, exchange.upload.totalBytes)
        }
    }
}
#endif
