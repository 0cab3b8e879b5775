import Errand
import ErrandInspector
import Foundation
import Testing

@Suite("Files of a recorder")
struct FileTests {
    private let folder: TemporaryFolder
    private let recorder: HARRecorder

    init() throws {
        folder = try TemporaryFolder()
        let session = Session()
        session.respond(HTTPRequest(.get, .shop("/")), HTTPResponse(status: 200))
        recorder = session.recorder
    }

    private func mode(of file: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
    }

    @Test("Only the owner may read the files, and no temporary file is left")
    func permissions() throws {
        try recorder.write(to: folder.file("session.har"))
        try recorder.writeReport(to: folder.file("session.html"))
        #expect(try mode(of: folder.file("session.har")) == 0o600)
        #expect(try mode(of: folder.file("session.html")) == 0o600)
        #expect(try folder.names == ["session.har", "session.html"])
        #expect(try Data(contentsOf: folder.file("session.har")) == recorder.data())
    }

    @Test("An existing file is replaced with its permissions, and a link is not followed")
    func replace() throws {
        let (target, link) = (folder.file("target"), folder.file("link.har"))
        try Data("kept".utf8).write(to: target)
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
        try recorder.write(to: link)
        #expect(try Data(contentsOf: target) == Data("kept".utf8))
        #expect(try mode(of: link) == 0o600)
        try recorder.write(to: target)
        #expect(try mode(of: target) == 0o600)
    }

    @Test("A missing folder, a folder in the place of the file and a web address are errors with advice")
    func errors() throws {
        let missing = folder.file("missing/session.har")
        let error = #expect(throws: HARRecorder.WriteError.self) { try recorder.write(to: missing) }
        #expect(error?.kind == .missingFolder)
        #expect(error?.description.hasSuffix("(open: No such file or directory); create its folder first") == true)
        #expect(error?.description.hasPrefix(missing.path) == true)

        #expect(throws: HARRecorder.WriteError.self) { try recorder.writeReport(to: folder.url) }
        let web = #expect(throws: HARRecorder.WriteError.self) { try recorder.write(to: .shop("/session.har")) }
        #expect(web?.kind == .notAFile)
        #expect(try folder.names.isEmpty)
    }

    #if os(Linux)
    @Test(
        "A full disk is an error with advice, and leaves the old file",
        .enabled(if: Program.canMount, "cannot mount")
    )
    func fullDisk() async throws {
        let script =
            #"mount -t tmpfs -o size=64k none "$0" && echo old > "$0/f" && "$1" archive "$0/f"; ls -A "$0"; cat "$0/f""#
        let probe = Program.built("cookie-probe")
        let ending = try await Program.run(["unshare", "-m", "sh", "-c", script, folder.url.path, probe])
        let lines = ending.output.split(separator: "\n").map(String.init)
        #expect(lines.count == 3)
        let advice = "cannot be written (write: No space left on device); free some space, or lower HARRecorder.Limits"
        #expect(lines.first == "\(folder.url.path)/f \(advice)")
        #expect(lines.dropFirst() == ["f", "old"])
    }
    #endif
}
