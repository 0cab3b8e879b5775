import Errand
import Foundation

/// Tells how downloads end where the disk fails.
enum Download {
    static func run(_ url: URL, to file: URL, times: Int) -> Never {
        Task.detached {
            let transport = DefaultTransport.make()
            var request = HTTPRequest(.get, url)
            request.destination = .file(file)
            for _ in 0..<times {
                do throws(TransportError) {
                    _ = try await transport.send(request, progress: nil)
                    say("downloaded")
                } catch {
                    say("failed \(error.kind)")
                }
            }
            exit(0)
        }
        dispatchMain()
    }
}
