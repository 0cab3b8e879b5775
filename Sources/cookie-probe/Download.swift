import Errand
import Foundation

/// Tells how a download ends where the disk fails.
enum Download {
    static func run(_ url: URL, to file: URL) -> Never {
        Task.detached {
            var request = HTTPRequest(.get, url)
            request.destination = .file(file)
            do throws(TransportError) {
                _ = try await DefaultTransport.make().send(request, progress: nil)
                say("downloaded")
            } catch {
                say("failed \(error.kind)")
            }
            exit(0)
        }
        dispatchMain()
    }
}
