import Errand
import Foundation

// A program that tests start and kill, stop, or run with a failing disk.
//
// Cookie tests:
//   cookie-probe <command> <file> [<name> [<count>]]
//   cookie-probe play <file> <a pipe with commands>
//   cookie-probe exit <file> <name> <count> <a URL that never responds> <a URL whose response it waits for>
// Reachability tests, in a network namespace:
//   cookie-probe watch <count>
// Download tests, with a failing disk:
//   cookie-probe download <file> <url> [<times>]
//   cookie-probe accept <file> <url that responds with 404>
//   cookie-probe resume <file> <url>
// Archive tests, with a full disk:
//   cookie-probe archive <file>
// Lookup tests, with a name server that never responds:
//   cookie-probe lookup <url that responds>
// TLS tests, with other authorities of the system:
//   cookie-probe fetch <transport> <url>...
// Cache tests:
//   cookie-probe cache <folder> <cookie file> <command>...
// Tests of servers that send without an end:
//   cookie-probe starve <limit> <url that never ends> <url that responds> <proxy or -> <authority or ->
let arguments = CommandLine.arguments.dropFirst()
guard let command = arguments.first, let path = arguments.dropFirst().first else { exit(64) }
if command == "watch" { NetworkWatch.run(Int(path) ?? 1) }
if command == "archive" { ArchiveWriter.run(URL(filePath: path)) }
if command == "lookup", let url = URL(string: path) { NameLookup.run(url) }
if command == "fetch" { Fetch.run(path, arguments.dropFirst(2).compactMap { URL(string: $0) }) }
#if os(Linux)
if command == "starve", let limit = Starvation.Limit(rawValue: path), arguments.count == 6 {
    let values = arguments.suffix(4).map { $0 == "-" ? nil : $0 }
    let (urls, authority) = (values.map { $0.flatMap { URL(string: $0) } }, values[3].map { URL(filePath: $0) })
    guard let flooding = urls[0], let neighbour = urls[1] else { exit(64) }
    Starvation(limit: limit, flooding: flooding, neighbour: neighbour, proxy: urls[2], authority: authority).run()
}
#endif
if command == "cache", let jar = arguments.dropFirst(2).first {
    CacheProbe.run(Array(arguments.dropFirst(3)), on: URL(filePath: path), jar: URL(filePath: jar))
}
if command == "download", let url = arguments.dropFirst(2).first.flatMap({ URL(string: $0) }) {
    Download.run(url, to: URL(filePath: path), times: arguments.dropFirst(3).first.flatMap { Int($0) } ?? 1)
}
if command == "accept", let url = arguments.dropFirst(2).first.flatMap({ URL(string: $0) }) {
    Download.accept(url, to: URL(filePath: path))
}
if command == "resume", let url = arguments.dropFirst(2).first.flatMap({ URL(string: $0) }) {
    Download.resume(url, to: URL(filePath: path))
}
let probe = CookieProbe(
    file: URL(filePath: path),
    name: arguments.dropFirst(2).first ?? "c",
    count: arguments.dropFirst(3).first.flatMap { Int($0) } ?? 1
)
switch command {
case "save": probe.save()
#if os(Linux)
// Watches a folder with inotify.
case "recover": probe.recover()
#endif
case "crash": probe.crash()
case "exit": probe.exitDuring(requests: arguments.dropFirst(4).compactMap { URL(string: $0) })
case "clear": probe.clear()
case "churn": probe.churn()
case "hold": probe.holdLock()
case "play": probe.executeCommands(fromPipe: probe.name)
default: exit(64)
}
