import ErrandTesting

@testable import Errand

extension APIProxy {
    /// A proxy without a network, for tests of one collaborator of a proxy.
    static func sample(
        _ transport: ScriptedTransport = ScriptedTransport(),
        perHost: Int = 64,
        clock: any APIClock = SystemClock()
    ) -> APIProxy {
        APIProxy(transport: transport, queueLimits: QueueLimits(perHost: perHost), clock: clock)
    }
}

extension ActiveLoad {
    /// A load that calls `cancelled` when it is cancelled.
    static func sample(
        _ id: RequestID = .next(),
        endsWithOwner: Bool = true,
        role: LoginRole = .none,
        cancelled: @escaping @Sendable (_ isMistake: Bool) -> Void = { _ in }
    ) -> ActiveLoad {
        ActiveLoad(
            id: id,
            method: .get,
            path: "/goods",
            endsWithOwner: endsWithOwner,
            loginRole: role
        ) { interruption in
            if case .cancelled(let isMistake) = interruption { cancelled(isMistake) }
        }
    }
}

extension Call<String> {
    /// A call of a `GET` that may share an exchange.
    static func sample(
        _ id: RequestID = .next(),
        path: String = "/goods",
        service: APIService = .sample(),
        cookies: CookieJar = CookieJar()
    ) -> Call {
        Call(
            id: id,
            service: service,
            cookies: cookies,
            draft: RequestDraft(method: .get, path: path),
            serializer: .text,
            priority: .normal,
            loginRole: .none,
            coalescesIdentical: true,
            extras: CallExtras()
        )
    }
}
