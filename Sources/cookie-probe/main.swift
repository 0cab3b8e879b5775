import Errand
import Foundation

// The process that the cookie tests kill, stop, or deny the disk.
//
// cookie-probe <command> <file> [<name> [<count>]]
//
// Or the one that the reachability tests put into a network of its own: cookie-probe watch <count>
let arguments = CommandLine.arguments.dropFirst()
guard let command = arguments.first, let path = arguments.dropFirst().first else { exit(64) }
if command == "watch" { NetworkWatch.run(Int(path) ?? 1) }
let probe = Probe(
    file: URL(filePath: path),
    name: arguments.dropFirst(2).first ?? "c",
    count: arguments.dropFirst(3).first.flatMap { Int($0) } ?? 1
)
switch command {
case "save": probe.save()
case "recover": probe.recover()
case "crash": probe.crash()
case "exit": probe.storeAll()
case "clear": probe.clear()
case "churn": probe.churn()
case "hold": probe.holdLock()
default: exit(64)
}
