import Foundation

/// A command of the program, parsed from its arguments.
enum Command: Equatable {
    /// Walks through the shop, on another server if a URL is given, and writes a report of its exchanges to the file.
    case walk(baseURL: URL?, report: URL?)
    /// Serves the shop's API.
    case serve(port: UInt16)
    /// Starts the app again with only a cookie file; the walk starts a child process with this command.
    case resume(baseURL: URL, cookieFile: URL)
    /// Prints the usage.
    case help
}

extension Command {
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
            let options = try Options(arguments.dropFirst(), known: ["--base-url", "--cookies"])
            guard let url = try options.url("--base-url"), let file = options["--cookies"] else {
                throw UsageError("resume needs --base-url and --cookies")
            }
            self = .resume(baseURL: url, cookieFile: URL(filePath: file))
        default:
            let options = try Options(arguments[...], known: ["--base-url", "--report"])
            self = .walk(baseURL: try options.url("--base-url"), report: try options.file("--report"))
        }
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
