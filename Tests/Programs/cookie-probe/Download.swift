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

    /// Downloads once with a load that accepts status 404, whose body every transport returns in memory.
    static func accept(_ url: URL, to file: URL) -> Never {
        load(url, to: file, with: APIRequestOptions(acceptedStatuses: [404]))
    }

    /// Downloads once, and continues what an earlier process has left.
    static func resume(_ url: URL, to file: URL) -> Never {
        load(url, to: file, with: APIRequestOptions(resumesDownload: true))
    }

    private static func load(_ url: URL, to file: URL, with options: APIRequestOptions) -> Never {
        Task { @MainActor in
            let proxy = APIProxy(service: APIService(baseURL: url))
            let request = APIRequest<DownloadedFile>("", destination: .file(file), options: options, proxy: proxy)
            do throws(APIError) {
                _ = try await request.value()
                printLine("downloaded")
            } catch {
                printLine("failed \(error.type): \(error.reason ?? "")")
            }
            exit(0)
        }
        dispatchMain()
    }
}
