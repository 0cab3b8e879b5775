import ErrandInspector
import Foundation

/// What a validator of the schema and two readers find in an archive.
struct ArchiveCheck: Decodable {
    let violations: [String]
    /// The number of entries, and the method and status of each.
    let haralyzer: Int
    let haralyzerRequests: [String]
    let hario: Int

    /// Writes the archive of a recorder, and opens it.
    init(of recorder: HARRecorder) async throws {
        let folder = try TemporaryFolder()
        try recorder.write(to: folder.file("session.har"))
        let command = [
            Program.readers, Program.folder.appending(path: "check_har.py").path, SharedData.harSchema.folder.path,
            folder.file("session.har").path,
        ]
        self = try JSONDecoder().decode(Self.self, from: Data(try await Program.run(command).output.utf8))
    }
}
