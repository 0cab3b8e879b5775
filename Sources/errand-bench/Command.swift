import Foundation

/// Compares the layer with bare libcurl, which it uses, and with URLSession.
@main struct ErrandBench {
    static func main() async {
        do {
            exit(try await run(Command(Array(CommandLine.arguments.dropFirst()))))
        } catch let error as UsageError {
            complain("\(error.message) (try errand-bench --help)")
            exit(EX_USAGE)
        } catch {
            complain("\(error)")
            exit(EXIT_FAILURE)
        }
    }

    @MainActor private static func run(_ command: Command) async throws -> Int32 {
        switch command {
        case .help: print(Command.usage)
        case .serve: try BenchServer.run()
        case .work(let row, let url): try await Worker(row: row, url: url).run()
        case .resume(let arguments): try await Resuming.runClient(arguments)
        case .cache(let arguments): try await CacheCosts.runClient(arguments)
        case .measure(let plan): try Report(try Conductor(plan).measure()).write(as: plan.format, plot: plan.plot)
        }
        return EXIT_SUCCESS
    }

    private static func complain(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("errand-bench: \(text)\n".utf8))
    }
}

/// A command of the bench, parsed from its arguments.
enum Command {
    /// Measures and reports.
    case measure(Plan)
    /// Serves the bench's requests; the bench starts a child process with this command.
    case serve
    /// Executes the orders of one row; the bench starts a child process with this command.
    case work(Row, URL)
    /// Downloads a file; the row of that name starts a child process with this command, and kills it.
    case resume([String])
    /// Stores responses without end; the row of that name starts a child process with this command, and kills it.
    case cache([String])
    /// Prints the usage.
    case help
}

extension Command {
    static let usage = """
        usage: errand-bench [ROW ...] [--json] [--plot FILE.svg] [--quick]
                            [--concurrency N,N,...] [--rounds N] [--requests N]

        Measures requests/s, CPU per request and memory of the layer, of the bare libcurl below it and of URLSession, each
        in a process of its own, against a server in another one. Rows that are compared take turns.

        rows, all of them by default:
          layer        loadData to delegate on the main actor, decoded to [Goods]
          proxy        APIProxy.send, not decoded
          floor        bare libcurl in a loop, decoded; floor-raw: not decoded
          urlsession   bare URLSession with completion handlers, decoded; urlsession-async: with data(for:)
          upload       1 GiB from a file
          download     1 GiB to a file
          cancel       10,000 requests in flight, cancelled together
          idle         CPU burnt while 10 requests wait 1 s on new connections
          soak         memory, threads and descriptors over many requests
          cookies      a jar of 3,000 cookies over 300 hosts
          relogin      10,000 requests refused at once, on a scripted network like the rest: one login, one replay each
          race         100,000 loads that other threads cancel while they end
          queue        200,000 loads in the queue, then cancelled together
          load         1,000,000 loads: the layer's own cost
          paging       a list of 1,000 pages of 100 items, in this process; paging-sockets: from the server
          json         10 MB of mixed JSON, and JSON 510 deep, as JSONValue against JSONSerialization; a lenient decoder
                       against an exact one
          adapters     CPU time to sign 2 KB (the slower of two ways) and to seal and open 2 KB, and of a load without and with
                       adapters that change nothing; 10,000 loads whose session key expires: one exchange, one replay each
          events       server-sent events of 100 bytes: parsed, delivered to a delegate, and 1,000 streams that wait
          resume       200 downloads of 256 MiB whose process is killed; and 1 GiB, beside a plain download;
                       \(Resuming.variable): another server's file of 256 MiB, whose byte n is n mod 256
          cache        CPU time of a load whose response is stored, and what a cache adds to one whose response is not; the
                       first hit in a folder of 10,000 responses and 1 GiB; what 200 killed processes leave; the results of
                       the suite of HTTP caches, if a test has written them
          images       loads of one image that 10,000 callers ask for; wrong images in a scroll of 10,000 cells; CPU time of
                       an image in memory, and of the probe of a header of 64 KiB
          monitors     CPU time of a load without monitors, and what each monitor adds; the events of 100,000 loads

          --json            one JSON object per row, then one per ratio
          --plot FILE.svg   draw throughput and CPU per request against concurrency
          --quick           small numbers, to see that it works
          --concurrency     requests in flight; 1,16,64,512 by default
          --rounds N        turns of each row, of which the median counts; 5 by default
          --requests N      requests of the soak; 200,000 by default
          --help, -h        show this text
        """

    /// Parses the arguments that follow the program's name.
    init(_ arguments: [String]) throws(UsageError) {
        switch arguments.first {
        case "serve" where arguments.count == 1: self = .serve
        case Resuming.command: self = .resume(Array(arguments.dropFirst()))
        case CacheCosts.command: self = .cache(Array(arguments.dropFirst()))
        case "work" where arguments.count == 3: self = try Self.work(arguments[1], arguments[2])
        default: self = arguments.contains { ["--help", "-h"].contains($0) } ? .help : .measure(try Plan(arguments))
        }
    }

    private static func work(_ name: String, _ address: String) throws(UsageError) -> Command {
        guard let row = Row(rawValue: name), let url = URL(string: address) else {
            throw UsageError("work needs a row and a URL")
        }
        return .work(row, url)
    }
}

/// An error in the arguments.
struct UsageError: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
