import Errand
import Foundation

/// Performs one command on a cookie file, and prints a line for each step.
struct CookieProbe {
    let name: String
    let count: Int
    private let file: URL
    private let jar: CookieJar

    init(file: URL, name: String, count: Int) {
        self.file = file
        self.name = name
        self.count = count
        jar = CookieJar(file: file, capacity: max(3_300, 10 * count)) { printLine("problem \($0.kind)") }
        printLine("opened \(jar.cookies.count)")
    }

    /// Stores `count` cookies, over as many hosts as the limit per site requires.
    func storeAll() {
        for number in 0..<count { store(number) }
    }

    /// Stores and saves, and ends without running exit handlers.
    func save() -> Never {
        storeAll()
        flush()
        printLine("in memory \(jar.cookies.count)")
        _exit(0)
    }

    #if os(Linux)
    /// Saves to a full disk, removes the file `ballast` from it, and waits for the automatic retry.
    func recover() -> Never {
        storeAll()
        flush()
        let folder = file.deletingLastPathComponent()
        let changes = inotify_init1(Int32(IN_CLOEXEC))
        guard inotify_add_watch(changes, folder.path(percentEncoded: false), UInt32(IN_MOVED_TO)) >= 0 else { exit(1) }
        unlink(folder.appending(path: "ballast").path(percentEncoded: false))
        // A save renames its file; the test ends a probe that waits in vain.
        var change = [UInt8](repeating: 0, count: 4_096)
        while !FileManager.default.fileExists(atPath: file.path(percentEncoded: false)) {
            guard Glibc.read(changes, &change, change.count) > 0 else { exit(1) }
        }
        printLine("on disk \(CookieJar(file: file).cookies.count)")
        _exit(0)
    }
    #endif

    /// Kills this process as soon as `flush` has returned.
    func crash() -> Never {
        storeAll()
        flush()
        kill(getpid(), SIGKILL)
        fatalError("survived SIGKILL")
    }

    /// Stores without saving and exits; with two URLs, while requests to the first are in flight and when the second has
    /// responded.
    func exitDuring(requests urls: [URL]) -> Never {
        guard urls.count == 2 else { storeAndExit() }
        let proxy = APIProxy(cookies: jar)
        for _ in 1...100 { Task.detached { try await proxy.send(HTTPRequest(.get, urls[0])) } }
        Task.detached {
            _ = try await proxy.send(HTTPRequest(.get, urls[1]))
            storeAndExit()
        }
        dispatchMain()
    }

    private func storeAndExit() -> Never {
        storeAll()
        exit(0)
    }

    /// Executes the commands that it reads from a pipe, one per line, and prints a line after each.
    ///
    /// `store <microseconds since 1970> <URL> <Set-Cookie>`, `flush`, `clear` or `cookies`, with arguments separated by TABs.
    func executeCommands(fromPipe pipe: String) -> Never {
        guard dup2(open(pipe, O_RDONLY | O_CLOEXEC), 0) == 0 else { exit(1) }
        while let line = readLine() {
            let command = line.split(separator: "\t", maxSplits: 3).map(String.init)
            switch command[0] {
            case "store": store(command)
            case "flush": while (try? jar.flush()) == nil {}
            case "clear": jar.removeAll()
            default: break
            }
            let pairs = command[0] == "cookies" ? jar.cookies.map { "\($0.name)=\($0.value)" } : []
            printLine("done \(pairs.joined(separator: " "))")
        }
        _exit(0)
    }

    private func store(_ command: [String]) {
        guard command.count == 4, let microseconds = Double(command[1]), let url = URL(string: command[2]) else {
            exit(64)
        }
        jar.store(setCookie: command[3], from: url, at: Date(timeIntervalSince1970: microseconds / 1e6))
    }

    func clear() -> Never {
        jar.removeAll()
        printLine("cleared")
        _exit(0)
    }

    /// Stores all cookies twice, saves after every 500, and removes every tenth cookie.
    func churn() {
        for number in 0..<2 * count {
            store(number % count, value: "\(number / count)")
            if number % 500 == 499 { flush() }
        }
        jar.removeAll { $0.name.hasPrefix("\(name)-") && $0.name.hasSuffix("0") }
        // Each attempt waits for the lock; with many processes on a busy machine, several attempts may time out.
        var attempts = 1
        while !flush(), attempts < 60 { attempts += 1 }
    }

    /// Holds the lock of the file until the standard input ends, at the latest with the parent process.
    func holdLock() -> Never {
        let descriptor = open(file.path(percentEncoded: false) + ".lock", O_RDWR | O_CREAT, 0o600)
        guard flock(descriptor, LOCK_EX) == 0 else { exit(1) }
        printLine("held")
        var byte: UInt8 = 0
        while read(0, &byte, 1) > 0 {}
        exit(0)
    }

    private func store(_ number: Int, value: String = "v") {
        guard let url = URL(string: "https://\(name)\(number / 100).example/") else { return }
        jar.store(setCookie: "\(name)-\(number)=\(value); Max-Age=86400", from: url)
    }

    @discardableResult
    private func flush() -> Bool {
        printLine("saving")
        do {
            try jar.flush()
            printLine("saved")
            return true
        } catch {
            printLine("failed \(error.kind)")
            return false
        }
    }
}

func printLine(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = write(1, bytes, bytes.count)
}
