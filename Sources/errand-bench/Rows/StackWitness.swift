import Errand
import Foundation

/// A delegate that loads the next page inside the ending of the previous one, and measures the depth of the stack.
@MainActor final class StackWitness: APIManagerCallbackDelegate {
    private var continuation: CheckedContinuation<Void, any Error>?
    // The main actor's jobs may run on different threads, each with a separate stack.
    private var stacks: [pthread_t: (first: Int, deepest: Int)] = [:]

    /// The maximum stack that a page needs in addition to the first page on the same thread, in bytes.
    func growth(pages: Int) async throws -> Double {
        let list = NumbersRequest(delegate: self, proxy: PageScript.numbers(pages: pages))
        try await withCheckedThrowingContinuation { continuation in
            self.continuation = continuation
            list.reload()
        }
        guard list.pageCount == pages else { throw BenchFailure("pages are missing") }
        return Double(stacks.values.map { $0.first - $0.deepest }.max() ?? 0)
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        var here = 0
        withUnsafeMutablePointer(to: &here) { note(Int(bitPattern: $0)) }
        guard (request as? NumbersRequest)?.loadNextPage() == nil else { return }
        continuation?.resume()
    }

    private func note(_ depth: Int) {
        let known = stacks[pthread_self()] ?? (depth, depth)
        stacks[pthread_self()] = (known.first, min(known.deepest, depth))
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        continuation?.resume(throwing: error)
    }
}

private final class NumbersRequest: PageAPIRequest<PageModel<Int>>, APIManager {
    let path = "/numbers"
    let method = HTTPMethod.get
    // The script responds to every page number.
    override var strategy: any PageStrategy { .pageNumber(totalIsExact: true) }
}
