import Errand
import Foundation

/// A delegate that asks for the next page inside the ending of the one before, and looks how deep it stands in the stack.
@MainActor final class StackWitness: APIManagerCallbackDelegate {
    private var continuation: CheckedContinuation<Void, any Error>?
    private var depths: [Int] = []

    /// How much more of the stack the last page needs than the second, in bytes.
    func growth(pages: Int) async throws -> Double {
        let list = NumbersRequest(delegate: self, proxy: PageScript.numbers(pages: pages))
        try await withCheckedThrowingContinuation { continuation in
            self.continuation = continuation
            list.reload()
        }
        guard list.loadedPages == pages, depths.count == pages else { throw BenchFailure("pages are missing") }
        return Double(depths[1] - depths[pages - 1])
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        var here = 0
        withUnsafeMutablePointer(to: &here) { depths.append(Int(bitPattern: $0)) }
        guard (request as? NumbersRequest)?.loadNextPage() == nil else { return }
        continuation?.resume()
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        continuation?.resume(throwing: error)
    }
}

private final class NumbersRequest: PageAPIRequest<PageModel<Int>>, APIManager {
    let path = "/numbers"
    let method = HTTPMethod.get
}
