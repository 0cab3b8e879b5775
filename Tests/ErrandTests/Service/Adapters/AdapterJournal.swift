import Foundation

@testable import Errand
@testable import ErrandTestSupport

/// Every kind of adapter.
enum AdapterKind: String, CaseIterable, Sendable {
    case params, request, response, data

    /// Whether it changes what is sent.
    var isOutward: Bool { [.params, .request].contains(self) }
}

/// Records the calls of adapters.
final class AdapterJournal: Sendable {
    struct Call: Sendable {
        let name: String
        let kind: AdapterKind?
        let context: AdapterContext?
        let environment: APIEnvironment?
    }

    private let all = Lock<[Call]>([])

    var calls: [Call] { all.withLock { $0 } }
    var names: [String] { calls.map(\.name) }

    func contexts(of kind: AdapterKind) -> [AdapterContext] { calls.filter { $0.kind == kind }.compactMap(\.context) }

    func note(_ name: String, _ kind: AdapterKind? = nil, _ context: AdapterContext? = nil) {
        let call = Call(name: name, kind: kind, context: context, environment: .current)
        all.withLock { $0.append(call) }
    }

    /// Returns an adapter of each kind that records its calls.
    func adapters(_ name: String) -> Adapters {
        Adapters { kind, context in self.note("\(kind) \(name)", kind, context) }
    }
}

extension Adapters {
    /// Creates one adapter of each of `kinds` that calls `adapt` and changes nothing.
    init(
        _ kinds: [AdapterKind] = AdapterKind.allCases,
        adapt: @escaping @Sendable (AdapterKind, AdapterContext) async throws -> Void
    ) {
        self.init()
        if kinds.contains(.params) { params = [Adapter { try await adapt(.params, $1) }] }
        if kinds.contains(.request) { request = [Adapter { try await adapt(.request, $1) }] }
        if kinds.contains(.response) { response = [Adapter { try await adapt(.response, $1) }] }
        if kinds.contains(.data) { data = [Adapter { try await adapt(.data, $1) }] }
    }
}
