import Errand
import ErrandInspector
import Foundation

/// Writes an archive that is larger than the disk of a test.
enum ArchiveWriter {
    /// Records a plain call with a large body that fails, and writes the archive.
    static func run(_ file: URL) -> Never {
        let recorder = HARRecorder(includesSecrets: true)
        let body = Data(repeating: UInt8(ascii: "a"), count: 200_000)
        Task.detached {
            let id = await anyID()
            let url = URL(filePath: "/")
            recorder.observe(APIEvent(.requestMade(HTTPRequest(.post, url, body: .data(body))), id: id, exchange: 1))
            do {
                try recorder.write(to: file)
                printLine("written")
            } catch {
                printLine("\(error)")
            }
            exit(0)
        }
        dispatchMain()
    }

    /// The ID of a request that is refused before anything is sent.
    @MainActor private static func anyID() -> RequestID { Unsent().loadData() }
}

private final class Unsent: BaseAPIRequest, APIManager {
    typealias Response = String
    let path = "/"
    let method = HTTPMethod.get
}
