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
        case .measure(let plan): try Report(try Conductor(plan).measure()).write(as: plan.format, plot: plan.plot)
        }
        return EXIT_SUCCESS
    }

    private static func complain(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("errand-bench: \(text)\n".utf8))
    }
}
