import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("A load in the table ends once", .hangLimit, .timeLimit(.minutes(10)))
struct LoadTableTests {
    let table = LoadTable()

    private func insert(_ count: Int) -> [RequestID] {
        (0..<count).map { _ in
            let load = ActiveLoad.sample()
            table.insert(load)
            return load.id
        }
    }

    @Test func `Of concurrent claims of a load, one receives it`() async {
        for id in insert(200) {
            let received = await withTaskGroup(of: Bool.self) { group in
                group.addTask { self.table.claim(id) != nil }
                group.addTask { self.table.claim([id]).count == 1 }
                group.addTask { self.table.claimAll { $0.id == id }.count == 1 }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(received == 1)
            #expect(!table.contains(id))
        }
        #expect(table.activeRequests.isEmpty)
    }

    @Test func `Claims of several loads return those that are active and selected, oldest first`() {
        let ids = insert(5)
        _ = table.claim(ids[1])
        #expect(table.claim([ids[3], ids[1], ids[0], .next()]).map(\.id) == [ids[0], ids[3]])
        #expect(table.activeRequests.map(\.id) == [ids[2], ids[4]])
        #expect(table.containsAny(of: [ids[0], ids[4]]))
        #expect(table.claimAll { $0.id == ids[4] }.map(\.id) == [ids[4]])
        #expect(table.claimAll().map(\.id) == [ids[2]])
        #expect(!table.containsAny(of: ids))
    }

    @Test func `A file is being left from when the table has it no more`() {
        let id = insert(1)[0]
        let file = RecordedFile()
        #expect(table.setFile(file, of: id) && file.calls.isEmpty)
        table.discardFile(of: id)
        #expect(file.calls == ["will discard", "discard"])
    }

    @Test func `Nothing is recorded for a load that has ended`() throws {
        let id = insert(1)[0]
        _ = table.claim(id)
        #expect(!table.setTask(Task {}, of: id))
        #expect(!table.setWaiting(in: QueueLane(host: "a", priority: .normal), of: id))
        #expect(!table.setFile(try StagedFile(at: FilePlace(.file(URL(filePath: "/tmp/never")))), of: id))
        #expect(table.countSend(of: id) == nil)
        #expect(!table.setSentAgain(id, for: .app))
        #expect(!table.join(id, as: .none))
        #expect(table.activeRequests.isEmpty && table.tasks.isEmpty)
    }

    @Test func `A load waits in the queue until it has a task`() {
        let id = insert(1)[0]
        #expect(table.setWaiting(in: QueueLane(host: "a", priority: .normal), of: id))
        #expect(table.tasks.isEmpty)
        #expect(table.setTask(Task {}, of: id))
        #expect(table.tasks.count == 1)
        #expect(table.claim(id)?.lane?.host == "a")
    }

    @Test func `The timer of a load that queues is removed, and that of one that has begun is not`() {
        let ids = insert(2)
        let timers = ids.map { _ in Task<Void, Never> { _ = try? await Latch().wait() } }
        for (id, timer) in zip(ids, timers) { #expect(table.setTimer(timer, until: .seconds(1), of: id)) }
        table.setBegun(ids[0])
        for id in ids { table.removeTimer(of: id) }
        #expect(timers.map { $0.isCancelled } == [false, true])
        #expect(ids.map(table.deadline) == [.seconds(1), nil])
        // The one that is kept ends with its load.
        #expect(!table.setTimer(Task {}, until: .seconds(2), of: ids[0]))
        _ = table.claim(ids[0])
        #expect(timers[0].isCancelled)
    }

    @Test func `The file of a response that is received again is removed, and so is a discarded one`() throws {
        let folder = try TemporaryFolder()
        let id = insert(1)[0]
        let files = try (0..<2).map { number in
            try StagedFile(at: FilePlace(.file(folder.url.appending(path: "photo\(number).jpg"))))
        }
        for file in files {
            #expect(table.setFile(file, of: id))
            #expect(try file.make())
        }
        let names = { try FileManager.default.contentsOfDirectory(atPath: folder.url.path) }
        #expect(try names().count == 1)
        table.discardFile(of: id)
        #expect(try names().isEmpty)
        #expect(try #require(table.claim(id)).file == nil)
    }

    @Test func `The sends of a load are counted, and it is sent again once`() {
        let id = insert(1)[0]
        #expect((0..<3).map { _ in table.countSend(of: id)?.number } == [1, 2, 3])
        let causes: [AdapterRetry.Cause] = [.app, .app, .clock, .key, .clock]
        #expect(causes.map { table.setSentAgain(id, for: $0) } == [true, false, true, true, false])
    }

    @Test func `A load that signs in joins no load that may wait for it`() {
        let (load, login) = (ActiveLoad.sample(), ActiveLoad.sample(role: .signIn))
        table.insert(load)
        table.insert(login)
        #expect(table.join(load.id, as: .none))
        #expect(!table.join(load.id, as: .signIn))
        #expect(!table.join(load.id, as: .partOfRelogin))
        #expect(table.join(login.id, as: .signIn))
        #expect(table.join(login.id, as: .none))
    }

    @Test func `A cancelled load ends when its file is removed, and its task is cancelled`() async throws {
        let folder = try TemporaryFolder()
        let file = try StagedFile(at: FilePlace(.file(folder.url.appending(path: "photo.jpg"))))
        let (task, id) = (Task<Void, Never> { while !Task.isCancelled { await Task.yield() } }, RequestID.next())
        let rest: Int = try await withCheckedThrowingContinuation { continuation in
            table.insert(
                .sample(id) { isMistake in
                    #expect(isMistake)
                    let names = Result { try FileManager.default.contentsOfDirectory(atPath: folder.url.path) }
                    continuation.resume(with: names.map(\.count))
                }
            )
            #expect(table.setTask(task, of: id) && table.setFile(file, of: id))
            #expect((try? file.make()) == true)
            table.claim(id)?.cancel(isMistake: true)
        }
        #expect(rest == 0)
        await task.value
    }
}

private final class RecordedFile: LoadFile {
    private let recorded = Lock<[String]>([])
    var calls: [String] { recorded.withLock(\.self) }
    var place: FilePlace { preconditionFailure("not called") }
    var location: FileLocation { preconditionFailure("not called") }
    var canContinue: Bool { false }

    func write(_ body: Data) {}
    func commit() {}
    func willDiscard() { recorded.withLock { $0.append("will discard") } }
    func discard(isRefused: Bool) { recorded.withLock { $0.append("discard") } }
}
