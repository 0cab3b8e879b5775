import ErrandTesting
import Foundation

@testable import Errand

extension ScriptedTransport {
    /// A transport that is one function; it keeps what it was asked to send.
    convenience init(_ answer: @escaping Script = { _ in .json(#"{"errcode":200,"msg":"ok","data":[]}"#) }) {
        self.init(fallback: answer)
    }
}
