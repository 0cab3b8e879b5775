import Errand
import Foundation

/// What the probe can be told to do with a cookie file; each step is a line on the standard output.
struct Probe {
    let name: String
    let count: Int
    private let file: URL
    private let jar: CookieJar

    init(file: URL, name: String, count: Int) {
        self.file = file
        self.name = name
        self.count = count
        jar = CookieJar(file: file, capacity: max(3_300, 10 * count)) { say("problem \($0.kind)") }
        say("opened \(jar.cookies.count)")
    }

    /// Stores `count` cookies over as many hosts as the limits need.
    func storeAll() {
        for number in 0..<count { store(number) }
    }

    /// Stores and saves, and ends without what a process does at its end.
    func save() -> Never {
        storeAll()
        flush()
        say("in memory \(jar.cookies.count)")
        _exit(0)
    }

    /// Saves where there is no room, removes the file called `ballast`, and waits for the save that comes by itself.
    func recover() -> Never {
        storeAll()
        flush()
        unlink(file.deletingLastPathComponent().appending(path: "ballast").path(percentEncoded: false))
        while !FileManager.default.fileExists(atPath: file.path(percentEncoded: false)) { usleep(50_000) }
        say("on disk \(CookieJar(file: file).cookies.count)")
        _exit(0)
    }

    /// Dies as soon as `flush` has returned.
    func crash() -> Never {
        storeAll()
        flush()
        kill(getpid(), SIGKILL)
        fatalError("survived SIGKILL")
    }

    /// Stores without saving and exits; with URLs, while requests to the first of them are in flight.
    func leave(during urls: [URL]) -> Never {
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

    /// Does what the lines of a pipe ask for, one after the other, and answers each.
    ///
    /// `store <microseconds since 1970> <URL> <Set-Cookie>`, `flush`, `clear` or `cookies`, with TABs between the words.
    func play(reading pipe: String) -> Never {
        guard dup2(open(pipe, O_RDONLY | O_CLOEXEC), 0) == 0 else { exit(1) }
        while let line = readLine() {
            let words = line.split(separator: "\t", maxSplits: 3).map(String.init)
            switch words[0] {
            case "store": store(words)
            case "flush": while (try? jar.flush()) == nil {}
            case "clear": jar.clear()
            default: break
            }
            let pairs = words[0] == "cookies" ? jar.cookies.map { "\($0.name)=\($0.value)" } : []
            say("done \(pairs.joined(separator: " "))")
        }
        _exit(0)
    }

    private func store(_ words: [String]) {
        guard words.count == 4, let microseconds = Double(words[1]), let url = URL(string: words[2]) else { exit(64) }
        jar.store(setCookie: words[3], from: url, at: Date(timeIntervalSince1970: microseconds / 1e6))
    }

    func clear() -> Never {
        jar.clear()
        say("cleared")
        _exit(0)
    }

    /// Stores two generations of the cookies in turn, saves now and then, and removes every tenth cookie.
    func churn() {
        for number in 0..<2 * count {
            store(number % count, value: "\(number / count)")
            if number % 500 == 499 { flush() }
        }
        jar.remove { $0.name.hasPrefix("\(name)-") && $0.name.hasSuffix("0") }
        // Each try waits for the lock as long as a save may; in a crowd on a busy machine that can be several times.
        var attempts = 1
        while !flush(), attempts < 60 { attempts += 1 }
    }

    /// Takes the lock of the file and keeps it until its input ends, as it does with the process that has started it.
    func holdLock() -> Never {
        let descriptor = open(file.path(percentEncoded: false) + ".lock", O_RDWR | O_CREAT, 0o600)
        guard flock(descriptor, LOCK_EX) == 0 else { exit(1) }
        say("held")
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
        say("saving")
        do {
            try jar.flush()
            say("saved")
            return true
        } catch {
            say("failed \(error.kind)")
            return false
        }
    }
}

func say(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = write(1, bytes, bytes.count)
}
