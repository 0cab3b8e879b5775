import Errand
import Foundation

/// A delegate that asks for the next page inside the ending of the one before, and looks how deep it stands in the stack.
@MainActor final class StackWitness: APIManagerCallbackDelegate {
    private var continuation: CheckedContinuation<Void, any Error>?
    // The main actor's jobs may run on one thread after the other, each with a stack of its own.
    private var stacks: [pthread_t: (first: Int, deepest: Int)] = [:]

    /// How much more of a stack any page needs than the first one on the same thread, in bytes.
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
    // The script has a page for every number.
    override var strategy: any PageStrategy { .pageNumber(totalIsExact: true) }
}
