import Errand
import ErrandSigning
import ErrandTesting
import Foundation

/// The costs of adapters, in CPU time: of signatures, of sealing, and of a load with and without adapters.
///
/// No build is without the places of the adapters, so `none_us` shows what these cost only when it is compared with that of
/// another build, in turns.
@MainActor struct AdapterCosts: Workload {
    private static let bytes = 2_048

    /// How many turns of calls have the median of a cost; `--quick`, which has few calls, only shows that the row works.
    nonisolated private static func rounds(of calls: Int) -> Int { calls < 5_000 ? 1 : 5 }

    func run(_ order: Order) async throws -> Measurement {
        let storm = try await KeyStorm().run(order)
        let calls = order.requests / 2
        let (param, aws) = (try await paramSignature(calls), try await awsSignature(calls))
        let (none, adapted) = try await loads(order.requests < 10_000 ? order.requests : 5 * order.requests)
        let costs = [
            "sign_us": max(param, aws), "sign_params_us": param, "sign_aws_us": aws,
            "seal_us": try await sealing(calls), "none_us": none, "adapted_us": adapted,
        ]
        return costs.merging(storm) { $1 }
    }

    /// Returns the cost of an HMAC-SHA-256 of 2 KB of parameters.
    private func paramSignature(_ calls: Int) async throws -> Double {
        var service = Scripted.service
        let signing = ParamSigning(secret: "0123456789abcdef", algorithm: .hmacSHA256, into: .parameter("sign"))
        service.sign(with: signing)
        let signers = service.adapters.params
        // As a literal has them; an object is encoded once more to be signed.
        var values: [String: APIParams.Value] = [:]
        for index in 0..<16 { values["name\(index)"] = String(repeating: "x", count: Self.bytes / 16) }
        let params = APIParams(values)
        let send = try await AdaptedSend(service, params: params)
        return try await cost(of: calls) {
            var params = send.params
            for signer in signers { try await signer.adapt(&params, send.paramContext) }
        }
    }

    /// Returns the cost of AWS Signature Version 4 of a request with a body of 2 KB.
    private func awsSignature(_ calls: Int) async throws -> Double {
        var service = Scripted.service
        service.sign(
            with: AWSSignature(region: "us-east-1", service: "execute-api") {
                AWSCredentials(accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
            }
        )
        // The first one prepares the query.
        let signers = service.adapters.request
        let send = try await AdaptedSend(service, params: Self.body)
        return try await cost(of: calls) {
            var request = send.request
            for signer in signers { try await signer.adapt(&request, send.requestContext) }
        }
    }

    /// Returns the cost of sealing a body of 2 KB and of opening another one.
    private func sealing(_ calls: Int) async throws -> Double {
        var service = Scripted.service
        service.seal(with: TrafficSealing(cipher: .aesGCM, keyExchange: ScriptedKeys(), expiredCodes: [4_011]))
        let (sealer, opener) = (service.adapters.request[0], service.adapters.response[0])
        let send = try await AdaptedSend(service, params: Self.body) { try ScriptedKeys.goods(for: $0) }
        return try await cost(of: calls) {
            var (request, response) = (send.request, send.response)
            try await sealer.adapt(&request, send.requestContext)
            try await opener.adapt(&response, send.responseContext)
        }
    }

    /// Parameters whose JSON is a body of 2 KB.
    private static let body: APIParams = ["text": String(repeating: "x", count: bytes - 11)]

    /// Returns the costs of a load without adapters, and of one with three that change nothing, measured in turns.
    private func loads(_ count: Int) async throws -> (none: Double, adapted: Double) {
        var adapted = Scripted.service
        adapted.adapters.params = [Adapter { _, _ in }]
        adapted.adapters.request = [Adapter { _, _ in }]
        adapted.adapters.response = [Adapter { _, _ in }]
        let order = Order(requests: count, concurrency: 64)
        var (none, three): ([Double], [Double]) = ([], [])
        for _ in 0..<Self.rounds(of: count) {
            none.append(try await ScriptedLoads().run(order)["cpu_us"] ?? .nan)
            three.append(try await ScriptedLoads(adapted).run(order)["cpu_us"] ?? .nan)
        }
        return (none.median, three.median)
    }

    /// Returns the median of the CPU time of one call, in microseconds; off the main actor, as adapters are called.
    @concurrent nonisolated private func cost(
        of calls: Int,
        _ work: @Sendable () async throws -> Void
    ) async throws -> Double {
        var costs: [Double] = []
        for _ in 0..<Self.rounds(of: calls) {
            let meter = Meter()
            for _ in 0..<calls { try await work() }
            costs.append(meter.cpuSeconds * 1e6 / Double(calls))
        }
        return costs.median
    }
}
