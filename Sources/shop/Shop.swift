import Errand
import ErrandInspector
import FixtureServer
import Foundation

/// The demo: a walk through a shop with the requests of an app.
@main struct Shop {
    /// The exit status that shells report for `SIGINT`.
    private static let interrupted: Int32 = 130

    static func main() async {
        StandardStreams.secure()
        do {
            exit(try await run(Command(Array(CommandLine.arguments.dropFirst()))))
        } catch let error as UsageError {
            StandardStreams.complain("\(error.message) (try shop --help)")
            exit(EX_USAGE)
        } catch {
            StandardStreams.complain("\(error)")
            exit(EXIT_FAILURE)
        }
    }

    /// Runs the command, and returns the exit status.
    @MainActor private static func run(_ command: Command) async throws -> Int32 {
        switch command {
        case .walk(let options): return try await walk(with: options)
        case .serve(let port): try await serve(at: port)
        case .resume(let baseURL, let cookieFile): try await resume(at: baseURL, with: cookieFile)
        case .offline(let baseURL, let cookieFile): try await listOffline(at: baseURL, with: cookieFile)
        case .download(let baseURL, let cookieFile, let file):
            try await download(at: baseURL, with: cookieFile, to: file)
        case .help: Terminal().write(Command.usage)
        }
        return EXIT_SUCCESS
    }

    /// Walks until the end or an interruption, and returns the exit status.
    @MainActor private static func walk(with options: WalkOptions) async throws -> Int32 {
        let walk = Task { try await takeWalk(with: options) }
        let watch = Task {
            if await Interruption.wait() != nil { walk.cancel() }
        }
        defer { watch.cancel() }
        do {
            try await walk.value
        } catch {
            guard walk.isCancelled else { throw error }
            StandardStreams.complain("interrupted")
            return interrupted
        }
        return EXIT_SUCCESS
    }

    @MainActor private static func takeWalk(with options: WalkOptions) async throws {
        if let baseURL = options.baseURL { return try await takeWalk(at: baseURL, options) }
        // A proxy from the environment must not be used for a server in this process.
        setenv("no_proxy", "127.0.0.1", 1)
        let server = try FixtureServer.startShop()
        defer { server.stop() }
        try await takeWalk(at: server.baseURL, options)
    }

    @MainActor private static func takeWalk(at baseURL: URL, _ options: WalkOptions) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let recorder = options.report.map { _ in HARRecorder() }
        let app = App(baseURL: baseURL, cookieFile: folder.file("cookies.txt"), recorder: recorder)
        // Otherwise the jar would create the folder again when it writes its file.
        defer { try? app.proxy.cookies.flush() }
        let debugging = ServerDebugging(baseURL: baseURL)
        let walk = Walk(app: app, debugging: debugging, folder: folder, pictureCount: options.pictureCount)
        guard let report = options.report, let recorder else { return try await walk.run() }
        do {
            try await walk.run()
        } catch {
            try recorder.writeReport(to: report)
            throw error
        }
        try recorder.writeReport(to: report)
        app.terminal.write("The report is \(report.path).")
    }

    @MainActor private static func serve(at port: UInt16) async throws {
        var options = ServerOptions()
        options.port = port
        options.recordedRequests = 0
        let server = try FixtureServer.startShop(options)
        let (terminal, url) = (Terminal(), server.baseURL.absoluteString)
        terminal.write("The shop is open at \(url) until interrupted. For instance:")
        for command in [
            "curl -c cookies.txt --json '{\"account\":\"lin\",\"password\":\"errand-1\"}' \(url)/account/login",
            "curl --json '{\"category\":7}' \(url)/mall/shopList",
            "curl -b cookies.txt '\(url)/orders?page=1&pageSize=20'",
        ] {
            terminal.write("   " + command)
        }
        _ = await Interruption.wait()
        server.stop(grace: .seconds(1))
    }

    /// Loads the profile of the signed-in customer, with only the cookie file of an earlier start.
    @MainActor private static func resume(at baseURL: URL, with cookieFile: URL) async throws {
        let app = App(baseURL: baseURL, cookieFile: cookieFile)
        let screen = ProfileScreen(app)
        screen.appear()
        try await screen.content()
        try expect(screen.profile?.account == Credentials.demo.account, "another account is signed in")
        try expect(app.wire.exchanges.map(\.credentials) == ["cookie"], "it was not the cookie alone that counted")
        app.showWire()
    }

    /// Shows the goods that an earlier start has stored.
    @MainActor private static func listOffline(at baseURL: URL, with cookieFile: URL) async throws {
        let app = App(baseURL: baseURL, cookieFile: cookieFile)
        app.goOffline()
        let screen = GoodsScreen(app)
        screen.appear()
        try await screen.content()
        try expect(screen.goods.count == 10, "10 stored goods were expected, \(screen.goods.count) came")
        try expect(screen.age != nil, "the goods come from the network")
    }

    @MainActor private static func download(at baseURL: URL, with cookieFile: URL, to file: URL) async throws {
        let screen = InvoiceFileScreen(App(baseURL: baseURL, cookieFile: cookieFile), file: file)
        screen.appear()
        try await screen.content()
    }
}

/// A command of the program, parsed from its arguments.
enum Command {
    /// Walks through the shop.
    case walk(WalkOptions)
    /// Serves the shop's API; port 0 chooses a free one.
    case serve(port: UInt16)
    /// Starts the app again with only a cookie file; the walk starts a child process with this command.
    case resume(baseURL: URL, cookieFile: URL)
    /// Starts the app again without a network; the walk starts a child process with this command.
    case offline(baseURL: URL, cookieFile: URL)
    /// Continues the download of an invoice with only a cookie file; the walk kills the process.
    case download(baseURL: URL, cookieFile: URL, file: URL)
    /// Prints the usage.
    case help

    static let usage = """
        usage: shop [--base-url URL] [--report FILE] [--pictures N]
               shop serve [--port N]

        Walks through a shop as an app would, over real sockets, and shows each screen and what went over the wire.
        The exit status is 0 if every step held, 1 if one did not, and 64 if the arguments are wrong.

          --base-url URL   walk through the shop on that server; by default one is started on a free port
          --report FILE    write a report of all exchanges, one HTML page, also if a step did not hold
          --pictures N     how many product pictures to look at: 50, 100 ... or 500, which is the default
          serve            serve the shop's API, for use with curl, until interrupted
          --port N         the port to serve on; a free one by default
          --help, -h       show this text
        """

    /// Parses the arguments that follow the program's name.
    init(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") {
            self = .help
            return
        }
        switch arguments.first {
        case "serve":
            let options = try Options(arguments.dropFirst(), known: ["--port"])
            self = .serve(port: try options.port("--port") ?? 0)
        case "resume":
            let (url, file) = try Self.secondStart(arguments)
            self = .resume(baseURL: url, cookieFile: file)
        case "offline":
            let (url, file) = try Self.secondStart(arguments)
            self = .offline(baseURL: url, cookieFile: file)
        case "download":
            let options = try Options(arguments.dropFirst(), known: ["--base-url", "--cookies", "--file"])
            guard let url = try options.url("--base-url"), let cookies = options["--cookies"],
                let file = try options.file("--file")
            else { throw UsageError("download needs --base-url, --cookies and --file") }
            self = .download(baseURL: url, cookieFile: URL(filePath: cookies), file: file)
        default:
            let options = try Options(arguments[...], known: ["--base-url", "--report", "--pictures"])
            self = .walk(
                WalkOptions(
                    baseURL: try options.url("--base-url"),
                    report: try options.file("--report"),
                    pictureCount: try options.pictureCount("--pictures") ?? 500
                )
            )
        }
    }
}

/// How to walk through the shop.
struct WalkOptions {
    /// `nil` starts a server in this process.
    var baseURL: URL?
    /// Where to write a report of the exchanges.
    var report: URL?
    var pictureCount: Int
}

extension Command {
    private static func secondStart(_ arguments: [String]) throws(UsageError) -> (URL, cookieFile: URL) {
        let options = try Options(arguments.dropFirst(), known: ["--base-url", "--cookies"])
        guard let url = try options.url("--base-url"), let file = options["--cookies"] else {
            throw UsageError("\(arguments[0]) needs --base-url and --cookies")
        }
        return (url, URL(filePath: file))
    }
}

/// Options with their values: `--name value` or `--name=value`.
private struct Options {
    private var values: [String: String] = [:]

    init(_ arguments: ArraySlice<String>, known: [String]) throws(UsageError) {
        var rest = arguments
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            guard let name = parts.first, known.contains(name) else {
                throw UsageError("unknown argument \(argument)")
            }
            guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
                throw UsageError("\(name) needs a value")
            }
            guard values.updateValue(value, forKey: name) == nil else { throw UsageError("\(name) is given twice") }
        }
    }

    subscript(name: String) -> String? { values[name] }

    func port(_ name: String) throws(UsageError) -> UInt16? {
        guard let text = values[name] else { return nil }
        guard let port = UInt16(text) else { throw UsageError("\(name) must be a number from 0 to 65535, not \(text)") }
        return port
    }

    func pictureCount(_ name: String) throws(UsageError) -> Int? {
        guard let text = values[name] else { return nil }
        guard let count = Int(text), (50...500).contains(count), count % 50 == 0 else {
            throw UsageError("\(name) must be 50, 100 ... or 500, not \(text)")
        }
        return count
    }

    func file(_ name: String) throws(UsageError) -> URL? {
        guard let path = values[name] else { return nil }
        guard !path.isEmpty else { throw UsageError("\(name) needs the path of a file") }
        return URL(filePath: path)
    }

    func url(_ name: String) throws(UsageError) -> URL? {
        guard let text = values[name] else { return nil }
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()), url.host() != nil
        else {
            throw UsageError("\(name) must be an http or https URL, not \(text)")
        }
        return url
    }
}

/// An error in the arguments.
struct UsageError: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
