@testable import Errand

extension HTTPTransport {
    /// Sends a request, and returns its error; `nil` with a response.
    func error(of request: HTTPRequest, progress: TransferProgress.Handler? = nil) async -> TransportError? {
        do {
            _ = try await send(request, progress: progress)
            return nil
        } catch {
            return error
        }
    }

    /// Sends a request, and returns the kind of its error; `nil` with a response.
    func ending(of request: HTTPRequest, progress: TransferProgress.Handler? = nil) async -> TransportError.Kind? {
        await error(of: request, progress: progress)?.kind
    }
}
