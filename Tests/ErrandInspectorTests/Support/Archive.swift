import ErrandInspector
import Foundation

/// The part of an archive that tests look at, decoded by Foundation.
struct Archive: Decodable {
    struct Log: Decodable {
        let version: String
        let comment: String
        let entries: [Entry]
    }
    struct Entry: Decodable {
        let startedDateTime: String
        let time: Double
        let request: Request
        let response: Response
        let timings: [String: Double]
        let serverIPAddress: String?
        let connection: String?
        let _load: UInt64
        let _loads: [UInt64]?
        let _attempt: Int
        let _cause: String?
        let _state: String
        let _error: String?
        let _fromCache: String?
        let _cacheAge: Int?
        let _truncated: Bool?
    }
    struct Field: Decodable, Equatable {
        let name: String
        let value: String
    }
    struct Cookie: Decodable {
        let name: String
        let value: String
        let path: String?
        let domain: String?
        let expires: String?
        let httpOnly: Bool?
        let secure: Bool?
    }
    struct PostData: Decodable {
        let mimeType: String
        let text: String
        let comment: String?
    }
    struct Request: Decodable {
        let method: String
        let url: String
        let httpVersion: String
        let cookies: [Cookie]
        let headers: [Field]
        let queryString: [Field]
        let postData: PostData?
        let headersSize: Int
        let bodySize: Int
        let comment: String?
    }
    struct Content: Decodable {
        let size: Int
        let compression: Int?
        let mimeType: String
        let text: String?
        let encoding: String?
        let comment: String?
    }
    struct Response: Decodable {
        let status: Int
        let statusText: String
        let httpVersion: String
        let cookies: [Cookie]
        let headers: [Field]
        let content: Content
        let redirectURL: String
        let headersSize: Int
        let bodySize: Int
    }

    let log: Log
}

extension HARRecorder {
    /// The entries of the archive that it writes.
    func entries() throws -> [Archive.Entry] { try JSONDecoder().decode(Archive.self, from: data()).log.entries }
}

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
