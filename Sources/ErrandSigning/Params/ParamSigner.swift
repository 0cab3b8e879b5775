import Errand
import Foundation

/// Adds a signature to each request as a ``ParamSigning`` describes it.
///
/// Values that are parameters are added before the parameters are encoded, and those that are headers afterwards.
struct ParamSigner: Sendable {
    let signing: ParamSigning

    var paramAdapter: Adapter<APIParams?> { Adapter(of: self) { try await adapt(&$0, context: $1) } }
    var requestAdapter: Adapter<HTTPRequest> { Adapter(of: self) { try await adapt(&$0, context: $1) } }

    private func adapt(_ params: inout APIParams?, context: AdapterContext) async throws {
        guard let sent = context.sentParams, !sent.hasNoQueryParams else { return }
        try checkPlaces()
        // Before the time of the signature is read.
        let secret = try await signing.secret()
        var fields = try sent.fields(of: params)
        var added: [String: APIParams.Value] = [:]
        let pathNames = sent.pathNames
        if let name = parameterNames.first(where: pathNames.contains) { throw Self.conflict(name) }
        if case .parameter(let name) = signing.timestamp {
            let text = signing.text(of: signing.serverClock.date(for: context))
            try add(name, text, to: &fields)
            added[name] = Int64(text).map(JSONValue.int) ?? .string(text)
        }
        if case .parameter(let name) = signing.nonce {
            let nonce = signing.makeNonce()
            try add(name, nonce, to: &fields)
            added[name] = nonce
        }
        if case .parameter(let name) = signing.signature {
            let signature = try signature(of: fields, secret: secret)
            try add(name, signature, to: &fields)
            added[name] = signature
        }
        guard !added.isEmpty else { return }
        params = params?.merging(APIParams(added)) ?? APIParams(added)
    }

    private func adapt(_ request: inout HTTPRequest, context: AdapterContext) async throws {
        let sent = context.sentParams.flatMap { $0.hasNoQueryParams ? nil : $0 }
        if sent == nil { try checkPlaces() } else if !signing.signature.isHeader { return }
        let secret = try await signing.secret()
        // The server has copied what an earlier request had.
        if sent == nil, context.isOfLink, let url = WireURL(request.url)?.removingPairs(named: Set(parameterNames)) {
            request.url = url
        }
        var fields = try sent.map { try $0.fields(of: $0.params) } ?? Self.fields(of: request.url)
        // What is among the parameters is there already.
        if let place = signing.timestamp, sent == nil || place.isHeader {
            try add(signing.text(of: signing.serverClock.date(for: context)), in: place, to: &request, &fields)
        }
        if let place = signing.nonce, sent == nil || place.isHeader {
            try add(signing.makeNonce(), in: place, to: &request, &fields)
        }
        try add(signature(of: fields, secret: secret), in: signing.signature, to: &request, &fields)
    }

    private func signature(of fields: [SentParams.Field], secret: String) throws -> String {
        do {
            return try signing.signature(of: signing.text(of: fields, secret: secret), secret: secret)
        } catch {
            throw APIError(.invalidRequest, error: error)
        }
    }

    /// Adds a value to a request, and to the fields that are signed.
    private func add(
        _ value: String,
        in place: ParamSigning.Place,
        to request: inout HTTPRequest,
        _ fields: inout [SentParams.Field]
    ) throws {
        switch place {
        case .parameter(let name):
            // Added beside the others, and replaces none.
            guard !fields.contains(where: { $0.name == name }) else { throw Self.conflict(name) }
            fields.append(SentParams.Field(name, value))
            var query = Array(WireURL(request.url)?.query ?? [])
            query.appendPair(name.utf8, value.utf8)
            guard let url = WireURL(request.url)?.replacingQuery(with: query) else {
                throw Self.error("the URL cannot be signed")
            }
            request.url = url
        case .header(let name, let signedName):
            guard request.headers[name] == nil else {
                throw Self.error("the request has a header \(name), which ParamSigning adds")
            }
            request.headers.append(name, value)
            fields.append(SentParams.Field(signedName ?? name, value))
        }
    }

    private var parameterNames: [String] {
        [signing.timestamp, signing.nonce, signing.signature].compactMap { $0?.parameter }
    }

    private func add(_ name: String, _ value: String, to fields: inout [SentParams.Field]) throws {
        guard !fields.contains(where: { $0.parameter == name || $0.name == name }) else { throw Self.conflict(name) }
        fields.append(SentParams.Field(name, value))
    }

    private func checkPlaces() throws {
        guard case .parameter = signing.signature else { return }
        guard signing.timestamp?.isHeader != true, signing.nonce?.isHeader != true else {
            throw Self.error("a timestamp or nonce in a header requires that the signature is in one as well")
        }
    }

    private static func fields(of url: URL) -> [SentParams.Field] {
        guard let query = WireURL(url)?.query else { return [] }
        return query.split(separator: UInt8(ascii: "&")).map { item in
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            let value = item[name.endIndex...].dropFirst()
            let field = PercentEncoding.decodedFormText(name)
            // That of its parameter, as far as its brackets show.
            let parameter = String(field.prefix { $0 != "[" })
            return SentParams.Field(field, PercentEncoding.decodedFormText(value), of: parameter)
        }
    }

    private static func conflict(_ name: String) -> APIError {
        error("there is a parameter \(name), which ParamSigning adds")
    }

    private static func error(_ reason: String) -> APIError {
        APIError(.invalidRequest, error: SigningError(.unsupportedRequest, reason: reason))
    }
}

extension ParamSigning.Place {
    fileprivate var parameter: String? {
        guard case .parameter(let name) = self else { return nil }
        return name
    }

    fileprivate var isHeader: Bool { parameter == nil }
}
