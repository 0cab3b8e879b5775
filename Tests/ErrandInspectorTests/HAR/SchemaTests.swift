import ErrandInspector
import Foundation
import Testing

@testable import Errand

@Suite(
    "Archives in other programs",
    .enabled(if: Program.hasReaders, ".ci/run has not installed jsonschema, haralyzer and hario-core"),
    .enabled(if: SharedData.harSchema.exists, "no ../shared/data/har-schema")
)
struct SchemaTests {
    @Test("A session fulfils the schema, and two readers find all entries", arguments: [false, true])
    func session(includesSecrets: Bool) async throws {
        let session = Session(HARRecorder(includesSecrets: includesSecrets))
        session.visitShop()
        let check = try await ArchiveCheck(of: session.recorder)
        #expect(check.violations == [])
        #expect(session.recorder.count == 15)
        #expect(check.haralyzer == 15)
        #expect(check.hario == 15)
        #expect(
            check.haralyzerRequests.sorted()
                == (try session.recorder.entries()).map { entry in
                    "\(entry.request.method) \(entry.response.status)"
                }.sorted()
        )
    }

    @Test("An archive without exchanges fulfils the schema")
    func empty() async throws {
        let check = try await ArchiveCheck(of: HARRecorder())
        #expect(check.violations == [])
        #expect((check.haralyzer, check.hario) == (0, 0))
    }

    @Test("Hostile strings fulfil the schema", arguments: [false, true])
    func hostile(includesSecrets: Bool) async throws {
        let session = Session(HARRecorder(includesSecrets: includesSecrets))
        let count = try session.respondWithHostileStrings()
        let check = try await ArchiveCheck(of: session.recorder)
        #expect(check.violations == [])
        #expect((check.haralyzer, check.hario) == (count, count))
    }
}
