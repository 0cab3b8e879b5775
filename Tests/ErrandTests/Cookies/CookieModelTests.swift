import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

/// FAULT 92: jars and processes that use one file in random order are compared to a model.
///
/// A jar that changes a cookie after another one did does so when that one has saved; apart from this, any jar saves at any time.
@Suite("Random updates of a shared cookie file", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CookieModelTests {
    private static let seeds = CookieProbe.runsSlowTests ? 0..<200 : 0..<6
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test(.fault(92), arguments: seeds)
    func `Jars of one process end with the last update of each cookie`(_ seed: Int) throws {
        try run(seed: UInt64(seed), steps: 300, jars: 4, processes: 0)
    }

    @Test(.startsPrograms, .fault(92), arguments: seeds.prefix(4))
    func `Jars of several processes end with the last update of each cookie`(_ seed: Int) throws {
        try run(seed: UInt64(1_000 + seed), steps: 200, jars: 2, processes: 3)
    }

    private func run(seed: UInt64, steps: Int, jars: Int, processes: Int) throws {
        var random = SplitMix(seed: seed)
        // Whole seconds, because the file has expiry times in whole seconds.
        var model = Model(start: Date(timeIntervalSince1970: Date.now.timeIntervalSince1970.rounded(.down)))
        var former: [any CookieFileClient] = []
        var clients: [any CookieFileClient] = (0..<jars).map { _ in local() }
        clients += try (0..<processes).map { _ in try RemoteCookieFileClient(of: folder.file) }
        var lastClients: [String: any CookieFileClient] = [:]
        for step in 0..<steps {
            let client = clients.randomElement(using: &random) ?? local()
            switch random.next() % 11 {
            case 0...1: try client.flush()
            case 10: lookAtFile(client, at: step, model.date)
            case 2:
                // The former jar is saved later or at the end.
                let index = Int(random.next() % UInt64(jars))
                former.append(clients[index])
                clients[index] = local()
            default:
                let (name, line, url) = model.update(number: step, using: &random)
                if let last = lastClients.updateValue(client, forKey: name), last !== client { try last.flush() }
                try client.store(line, from: url, at: model.date)
            }
        }
        for client in former { try client.flush() }
        try check(clients, against: &model)
    }

    /// Saves twice: the first round brings all changes to the file, the second one to every jar.
    private func check(_ clients: [any CookieFileClient], against model: inout Model) throws {
        model.date += 1
        for round in 0..<2 {
            for (number, client) in clients.enumerated() {
                try client.store("touch\(number)=\(round)", from: Model.urls[0], at: model.date)
                try client.flush()
            }
        }
        let expected = model.pairs
        let jar = CookieJar(file: folder.file, at: model.date)
        #expect(Set(jar.cookies.map { "\($0.name)=\($0.value)" }.filter { !$0.hasPrefix("touch") }) == expected)
        for client in clients {
            #expect(try client.pairs().filter { !$0.hasPrefix("touch") } == expected)
        }
    }

    /// Lets a jar take over what others have saved, as a load does.
    private func lookAtFile(_ client: any CookieFileClient, at step: Int, _ date: Date) {
        (client as? LocalCookieFileClient)?.jar.refresh(at: .seconds(step), date: date)
    }

    private func local() -> any CookieFileClient {
        let jar = CookieJar(file: folder.file) { [weak folder] in
            if $0.kind != .locked { recordIssue($0, while: folder) }
        }
        return LocalCookieFileClient(jar: jar)
    }
}

/// The expected cookies.
private struct Model {
    static let urls = [
        URL("https://shop.example.org/"), URL("https://other.example/a/b"), URL("http://plain.example/"),
    ]
    private var cookies: [String: (value: String, end: Date?)] = [:]
    var date: Date

    init(start: Date) {
        date = start
    }

    /// The `name=value` of the cookies that are not expired.
    var pairs: Set<String> {
        Set(cookies.filter { $1.end.map { $0 > date } ?? true }.map { "\($0)=\($1.value)" })
    }

    /// Sets or removes one cookie at a later date, and returns the `Set-Cookie` that does the same.
    mutating func update(number: Int, using random: inout SplitMix) -> (name: String, line: String, url: URL) {
        date += 1 + Double(random.next() % 3)
        let place = Int(random.next() % 3)
        let name = "c\(random.next() % 4)at\(place)"
        switch random.next() % 5 {
        case 0...1:
            cookies[name] = nil
            return (name, "\(name)=; Max-Age=0", Self.urls[place])
        case 2:
            let life = Int(1 + random.next() % 60)
            cookies[name] = ("\(number)", date + Double(life))
            return (name, "\(name)=\(number); Max-Age=\(life)", Self.urls[place])
        default:
            cookies[name] = ("\(number)", nil)
            return (name, "\(name)=\(number)", Self.urls[place])
        }
    }
}

/// A jar that a test uses, in this process or in another one.
protocol CookieFileClient: AnyObject {
    /// Stores the value of a `Set-Cookie` header field that `url` sent at `date`.
    func store(_ line: String, from url: URL, at date: Date) throws
    /// Saves, and returns when all changes are in the file.
    func flush() throws
    /// `name=value` of each cookie in memory.
    func pairs() throws -> Set<String>
}

/// A jar of this process.
final class LocalCookieFileClient: CookieFileClient {
    let jar: CookieJar

    init(jar: CookieJar) {
        self.jar = jar
    }

    func store(_ line: String, from url: URL, at date: Date) { jar.store(setCookie: line, from: url, at: date) }

    func flush() {
        // On a busy machine another process may hold the lock for longer than a save waits.
        while (try? jar.flush()) == nil {}
    }

    func pairs() -> Set<String> { Set(jar.cookies.map { "\($0.name)=\($0.value)" }) }
}

/// A jar of another process, which is killed when this object is released.
final class RemoteCookieFileClient: CookieFileClient {
    private let program: TestProgram
    private let output = Pipe()
    private let input: FileHandle
    private let folder: TemporaryFolder

    /// Returns when the other process has opened its jar.
    init(of file: URL) throws {
        folder = try TemporaryFolder()
        let pipe = folder.url.appending(path: "commands").path(percentEncoded: false)
        guard mkfifo(pipe, 0o600) == 0 else { throw SystemError.last("mkfifo") }
        // Opened for reading as well, because otherwise this call waits for the other process.
        let descriptor = open(pipe, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError.last("open") }
        input = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        program = try TestProgram(
            [CookieProbe.path, "play", file.path(percentEncoded: false), pipe],
            output: output
        )
        _ = try output.line(behind: "opened")
    }

    func store(_ line: String, from url: URL, at date: Date) throws {
        let microseconds = CookieTimestamp(date).microseconds
        try send("store\t\(microseconds)\t\(url.absoluteString)\t\(line)")
    }

    func flush() throws { try send("flush") }

    func clear() throws { try send("clear") }

    func pairs() throws -> Set<String> { Set(try send("cookies").split(separator: " ").map(String.init)) }

    @discardableResult
    private func send(_ command: String) throws -> String {
        try input.write(contentsOf: Data("\(command)\n".utf8))
        return try output.line(behind: "done")
    }
}
