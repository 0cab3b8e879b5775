#if os(Linux)
import Foundation

/// A transfer handle that serves one exchange after the other, with the memory that libcurl writes to.
///
/// It stays on the thread of its loop.
final class CurlHandle {
    let easy: CurlEasy
    /// The exchange that libcurl works for.
    private(set) var exchange: CurlExchange?
    private let errorText: UnsafeMutablePointer<CChar>
    private static let errorCapacity = 256

    /// Makes a handle with everything that is the same for all exchanges of `configuration`.
    init?(_ configuration: TransportConfiguration) {
        guard let easy = CurlEasy() else { return nil }
        self.easy = easy
        errorText = .allocate(capacity: Self.errorCapacity)
        errorText.initialize(repeating: 0, count: Self.errorCapacity)
        setCallbacks()
        easy.apply(configuration)
    }

    deinit {
        easy.free()
        errorText.deallocate()
    }

    /// Prepares the transfer of `exchange`.
    func begin(_ exchange: CurlExchange) {
        self.exchange = exchange
        errorText.pointee = 0
        easy.apply(exchange)
    }

    /// Lets go of the exchange.
    func end() {
        exchange = nil
        easy.set(.headers, nil)
    }

    /// What went wrong, in libcurl's words.
    func reason(_ code: CurlCode) -> String {
        let text = String(cString: errorText)
        return text.isEmpty ? CurlLibrary.text(of: code.rawValue) : text
    }

    private func setCallbacks() {
        let context = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        easy.set(.errorBuffer, UnsafeRawPointer(errorText))
        easy.set(.context, context)
        easy.set(.headerContext, context)
        easy.set(.writeContext, context)
        easy.set(.readContext, context)
        easy.set(.seekContext, context)
        easy.set(.readyContext, context)
        easy.set(.header, curlTakesHeader)
        easy.set(.write, curlTakesBody)
        easy.set(.read, curlWantsBody)
        easy.set(.seek, curlRewindsBody)
        _ = easy.set(.ready, curlIsReady)
    }
}
#endif
