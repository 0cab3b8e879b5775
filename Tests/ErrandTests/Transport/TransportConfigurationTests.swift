import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("One configuration, over every transport", .limitedConcurrency, .timeLimit(.minutes(10)))
struct TransportConfigurationTests {
    private func configuration(_ change: (inout TransportConfiguration) -> Void) -> TransportConfiguration {
        var configuration = TransportConfiguration()
        change(&configuration)
        return configuration
    }

    #if os(Linux)
    @Test(arguments: TransportKind.allCases)
    func `A proxy server carries requests to any host`(_ kind: TransportKind) async throws {
        let proxy = try FixtureServer.start { _ in .text("proxied") }
        let configuration = configuration { $0.proxy = .url(proxy.baseURL) }
        let request = HTTPRequest(.get, URL("http://api.example/goods?x=1"))
        let expected = kind.expected(.status(200), with: "proxy")
        #expect(await kind.outcome(of: request, configuration) == expected)
        guard expected == .status(200) else { return }
        #expect(try await proxy.takeRequest().target == "http://api.example/goods?x=1")
    }
    #endif

    @Test(arguments: TransportKind.allCases)
    func `No proxy server is used without one`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        let ending = await kind.outcome(of: HTTPRequest(to: server), configuration { $0.proxy = .none })
        #expect(ending == kind.expected(.status(200), with: "proxy"))
    }

    #if os(Linux)
    @Test(arguments: TransportKind.allCases)
    func `A Unix socket replaces the host`(_ kind: TransportKind) async throws {
        let folder = try TemporaryFolder()
        let socket = folder.url.appending(path: "s")
        var options = ServerOptions()
        options.unixSocket = socket
        let server = try FixtureServer.start(options) { _ in .text("ok") }
        let request = HTTPRequest(.get, URL("http://daemon/path"))
        let expected = kind.expected(.status(200), with: "unixSocketPath")
        #expect(await kind.outcome(of: request, configuration { $0.unixSocketPath = socket.path }) == expected)
        guard expected == .status(200) else { return }
        #expect(try await server.takeRequest().header("Host") == "daemon")
    }
    #endif

    @Test(arguments: TransportKind.allCases)
    func `The connect timeout is applied, or refused`(_ kind: TransportKind) async throws {
        // The server never responds to the first message of TLS.
        let server = try FixtureServer.start { _, _ in .onAccept(Response(steps: [.hang])) }
        var request = HTTPRequest(.get, URL("https://127.0.0.1:\(server.port)/"))
        request.deadline = .seconds(60)
        let ending = await kind.outcome(of: request, configuration { $0.connectTimeout = .milliseconds(50) })
        #expect(ending == kind.expected(.failed(.timeout), with: "connectTimeout"))
    }

    @Test(arguments: TransportKind.allCases)
    func `A connect timeout of any length is applied, or refused`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        for timeout in [Duration.seconds(Int64.max), .seconds(2_147_484), .seconds(5)] {
            let ending = await kind.outcome(of: HTTPRequest(to: server), configuration { $0.connectTimeout = timeout })
            #expect(ending == kind.expected(.status(200), with: "connectTimeout"))
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `Limits of connections are those of the proxy`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        let configuration = configuration { ($0.connectionsPerHost, $0.connections) = (2, 3) }
        #expect(await kind.outcome(of: HTTPRequest(to: server), configuration) == .status(200))
        let capacity = APIProxy(transport: try kind.make(configuration)).transport.capacity
        #expect((capacity.connectionsPerHost, capacity.connections) == (2, 3))
    }

    #if os(Linux)
    /// A setting that only Apple's platforms have.
    enum AppleSetting: String, CaseIterable {
        case allowsCellularAccess, allowsExpensiveNetworkAccess, allowsConstrainedNetworkAccess, configureSession

        func apply(to configuration: inout TransportConfiguration) {
            switch self {
            case .allowsCellularAccess: configuration.allowsCellularAccess = false
            case .allowsExpensiveNetworkAccess: configuration.allowsExpensiveNetworkAccess = false
            case .allowsConstrainedNetworkAccess: configuration.allowsConstrainedNetworkAccess = false
            case .configureSession: configuration.configureSession = { _ in Issue.record("there is no session") }
            }
        }
    }

    @Test(arguments: TransportKind.allCases, AppleSetting.allCases)
    func `What only Apple's platforms have is refused on Linux, and named`(
        _ kind: TransportKind,
        _ setting: AppleSetting
    ) async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        let configuration = configuration(setting.apply)
        #expect(await kind.outcome(of: HTTPRequest(to: server), configuration) == .refused(setting.rawValue))
        let error = #expect(throws: TransportError.self) { try SystemTransport(configuration) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("keep") == true, "the reason says what to do")
        #expect(server.totalRequests == 0)
    }

    @Test(arguments: TransportKind.allCases)
    func `HTTP 3 is used as far as libcurl has it, and refused otherwise`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        let isSupported = kind == .curl && CurlLibrary.supportsHTTP3
        let ending = await kind.outcome(of: HTTPRequest(to: server), configuration { $0.assumesHTTP3Capable = true })
        #expect(ending == (isSupported ? .status(200) : .refused("assumesHTTP3Capable")))
    }

    @Test(arguments: TransportKind.allCases)
    func `How long an unused connection is kept is applied, or refused`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        for age in [Duration.seconds(1), .seconds(Int64.max), .seconds(1.6e20)] {
            let ending = await kind.outcome(of: HTTPRequest(to: server), configuration { $0.idleConnectionAge = age })
            #expect(ending == kind.expected(.status(200), with: "idleConnectionAge"))
        }
    }
    #endif

    // MARK: Values that no transport can apply

    struct Mistake: Sendable, CustomStringConvertible {
        let setting: String
        let value: String
        let make: @Sendable (inout TransportConfiguration) -> Void

        init(_ setting: String, _ value: String, _ make: @escaping @Sendable (inout TransportConfiguration) -> Void) {
            (self.setting, self.value, self.make) = (setting, value, make)
        }

        var description: String { "\(setting) = \(value)" }
    }

    static let mistakes = [
        Mistake("connectionsPerHost", "0") { $0.connectionsPerHost = 0 },
        Mistake("connectionsPerHost", "-1") { $0.connectionsPerHost = -1 },
        Mistake("connections", "0") { $0.connections = 0 },
        Mistake("connections", "-5") { $0.connections = -5 },
        Mistake("connectTimeout", "0") { $0.connectTimeout = .zero },
        Mistake("connectTimeout", "-1 s") { $0.connectTimeout = .seconds(-1) },
        Mistake("idleConnectionAge", "0") { $0.idleConnectionAge = .zero },
        Mistake("idleConnectionAge", "0.9 s") { $0.idleConnectionAge = .milliseconds(900) },
        Mistake("idleConnectionAge", "1.9 s") { $0.idleConnectionAge = .milliseconds(1_900) },
        Mistake("idleConnectionAge", "-1 s") { $0.idleConnectionAge = .seconds(-1) },
        Mistake("proxy", "a file") { $0.proxy = .url(URL("file:///tmp/proxy")) },
        Mistake("proxy", "no scheme") { $0.proxy = .url(URL("//proxy.test:3128")) },
        Mistake("proxy", "no host") { $0.proxy = .url(URL("http:3128")) },
        Mistake("proxy", "a script") { $0.proxy = .url(URL("http://proxy.test/proxy.pac")) },
        Mistake("proxy", "a query") { $0.proxy = .url(URL("http://proxy.test/?a=b")) },
        Mistake("proxy", "port 0") { $0.proxy = .url(URL("http://proxy.test:0")) },
        Mistake("proxy", "port 65536") { $0.proxy = .url(URL("http://proxy.test:65536")) },
        Mistake("proxy", "a user with NUL") { $0.proxy = .url(URL("http://us%00er:x@proxy.test")) },
        Mistake("proxy", "a password with LF") { $0.proxy = .url(URL("socks5h://user:pa%0ass@proxy.test")) },
        Mistake("proxy", "a password with DEL") { $0.proxy = .url(URL("http://user:%7F@proxy.test")) },
        Mistake("proxy", "a password for SOCKS 4") { $0.proxy = .url(URL("socks4://user:x@proxy.test")) },
        Mistake("proxy", "beside a socket") {
            ($0.proxy, $0.unixSocketPath) = (.url(URL("http://proxy.test:3128")), "/tmp/s")
        },
        Mistake("unixSocketPath", "empty") { $0.unixSocketPath = "" },
        Mistake("unixSocketPath", "too long") { $0.unixSocketPath = "/" + String(repeating: "s", count: 107) },
        Mistake("unixSocketPath", "with NUL") { $0.unixSocketPath = "/tmp/s\0" },
        Mistake("tls.clientIdentity", "no origin") { $0.tls.clientIdentity = identity([]) },
        Mistake("tls.clientIdentity", "an http origin") { $0.tls.clientIdentity = identity([URL("http://a.test")]) },
        Mistake("tls.clientIdentity", "a missing file") {
            let file = URL(filePath: "/nowhere/client.p12")
            $0.tls.clientIdentity = ClientIdentity(certificate: file, origins: [URL("https://a.test")])
        },
        Mistake("tls.clientIdentity", "a password with NUL") {
            $0.tls.clientIdentity = identity([URL("https://a.test")], password: "pass\0word")
        },
    ]

    private static func identity(_ origins: [URL], password: String? = nil) -> ClientIdentity {
        ClientIdentity(certificate: URL(filePath: #filePath), password: password, origins: origins)
    }

    @Test(arguments: TransportKind.allCases, mistakes)
    func `A value that is a mistake is refused, and named`(_ kind: TransportKind, _ mistake: Mistake) async {
        let ending = await kind.outcome(of: HTTPRequest(.get, URL("http://a.test/")), configuration(mistake.make))
        #expect(ending == .refused(mistake.setting))
    }

    @Test(arguments: TransportKind.allCases)
    func `A key beside a PKCS 12 file, which contains one, is refused`(_ kind: TransportKind) async throws {
        let folder = try TemporaryFolder()
        let files = ["client.p12", "client.key"].map { folder.url.appending(path: $0) }
        for file in files { try Data().write(to: file) }
        let configuration = configuration {
            let origins = [URL("https://a.test")]
            $0.tls.clientIdentity = ClientIdentity(certificate: files[0], privateKey: files[1], origins: origins)
        }
        let ending = await kind.outcome(of: HTTPRequest(.get, URL("https://a.test/")), configuration)
        #expect(ending == .refused("tls.clientIdentity"))
    }

    #if os(Linux)
    @Test(arguments: ["no key", ""])
    func `A pinned key that is a mistake is refused, and its host named`(_ key: String) async {
        let configuration = configuration { $0.tls.pinnedPublicKeys["a.test"] = key.isEmpty ? [] : [key] }
        let ending = await TransportKind.curl.outcome(of: HTTPRequest(.get, URL("https://a.test/")), configuration)
        #expect(ending == .refused("tls.pinnedPublicKeys[\"a.test\"]"))
    }
    #endif

    @Test func `The default configuration is one for every transport`() throws {
        for kind in TransportKind.allCases { #expect(try kind.make().capacity == TransportCapacity()) }
    }
}
