import Errand
import Foundation

/// Downloads a file while the disk fails, and prints each result.
enum Download {
    static func run(_ url: URL, to file: URL, times: Int) -> Never {
        Task.detached {
            let proxy = APIProxy()
            var request = HTTPRequest(.get, url)
            request.destination = .file(file)
            for _ in 0..<times {
                do throws(APIError) {
                    _ = try await proxy.send(request)
                    printLine("downloaded")
                } catch {
                    printLine("failed \(error.type): \(error.reason ?? "")")
                }
            }
            exit(0)
        }
        dispatchMain()
    }
}
