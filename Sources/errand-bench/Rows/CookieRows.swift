import Errand
import Foundation

/// The costs of a jar of 3,000 cookies of 300 hosts: a header, a load, a save, and requests that change nothing.
struct CookieCosts: Workload {
    private static let hosts = 300
    private static let cookiesPerHost = 10
    private static let session = "sid=31d4d96e407aad42; Path=/; Secure; HttpOnly"

    func run(_ order: Order) async throws -> Measurement {
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "cookies.txt")
        try fill(file)
        var fields = try costs(of: file)
        fields[.idleWrites] = Double(try await idleWrites(file))
        return fields
    }

    private func fill(_ file: URL) throws {
        let jar = CookieJar(file: file)
        for host in 0..<Self.hosts {
            for number in 0..<Self.cookiesPerHost { jar.store(setCookie: cookie(number), from: url(host)) }
        }
        try jar.flush()
    }

    private func costs(of file: URL) throws -> Measurement {
        var loads: [Double] = []
        var saves: [Double] = []
        for turn in 0..<5 {
            let (jar, load) = timed { CookieJar(file: file) }
            guard jar.cookies.count == Self.hosts * Self.cookiesPerHost else {
                throw BenchFailure("cookies are missing")
            }
            loads.append(load)
            jar.store(setCookie: cookie(0, "turn-\(turn)"), from: url(turn))
            saves.append(try timed { try jar.flush() }.seconds)
        }
        let jar = CookieJar(file: file)
        let headers = (0..<3_000).map { index in timed { jar.header(for: url(index % Self.hosts)) }.seconds }
        return [
            .cookies: Double(jar.cookies.count), .header: headers.median, .load: loads.median,
            .save: saves.median,
        ]
    }

    /// Returns how often the file is replaced or changed by requests whose cookies the jar already has.
    private func idleWrites(_ file: URL) async throws -> Int {
        let jar = CookieJar(file: file)
        jar.store(setCookie: Self.session, from: url(0))
        try jar.flush()
        let before = try stamp(file)
        for index in 0..<1_000 {
            _ = jar.header(for: url(index % Self.hosts))
            jar.store(setCookie: Self.session, from: url(0))
        }
        try await Task.sleep(for: .milliseconds(500))
        try jar.flush()
        return try stamp(file) == before ? 0 : 1
    }

    private func stamp(_ file: URL) throws -> [Int] {
        var status = stat()
        guard stat(file.path, &status) == 0 else { throw BenchFailure("the cookie file is gone") }
        #if os(Linux)
        return [Int(status.st_ino), status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
        #else
        return [Int(status.st_ino), status.st_mtimespec.tv_sec, status.st_mtimespec.tv_nsec]
        #endif
    }

    private func url(_ host: Int) -> URL {
        guard let url = URL(string: "https://www.shop\(host).example/mall/list") else { preconditionFailure("no URL") }
        return url
    }

    private func cookie(_ number: Int, _ value: String = "0123456789abcdef") -> String {
        "name\(number)=\(value); Path=/; Max-Age=86400; Secure; HttpOnly"
    }

    private func timed<Value>(_ work: () throws -> Value) rethrows -> (value: Value, seconds: Double) {
        let start = ContinuousClock.now
        let value = try work()
        return (value, start.duration(to: .now) / .seconds(1))
    }
}
