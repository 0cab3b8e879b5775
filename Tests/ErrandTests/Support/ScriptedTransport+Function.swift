import ErrandTesting
import Foundation

@testable import Errand

extension ScriptedTransport {
    /// Creates a transport that responds to every request with one function and records the requests.
    convenience init(
        capacity: TransportCapacity = .unlimited,
        _ response: @escaping Script = { _ in .json(#"{"errcode":200,"msg":"ok","data":[]}"#) }
    ) {
        self.init(capacity: capacity, fallback: response)
    }
}
