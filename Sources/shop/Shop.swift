import Foundation

/// The demo: a walk through a shop with the requests of an app.
@main struct Shop {
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

    @MainActor private static func run(_ command: Command) async throws -> Int32 {
        switch command {
        case .walk(let baseURL, let report): try await WalkCommand(baseURL: baseURL, report: report).run()
        case .serve(let port): try await ServeCommand(port: port).run()
        case .resume(let url, let cookieFile): try await ResumeCommand(baseURL: url, cookieFile: cookieFile).run()
        case .help: HelpCommand().run()
        }
    }
}
