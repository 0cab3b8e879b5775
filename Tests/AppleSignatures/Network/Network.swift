public import Dispatch
public import Foundation

// In newer SDKs it is `Sendable`; here it is not, so that both compile.
final public class NWPathMonitor {
    public init() {}
    final public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)?
    final public var currentPath: NWPath { fatalError() }
    final public func start(queue: DispatchQueue) {}
    final public func cancel() {}
}

public struct NWPath: Sendable, Equatable {
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }

    public let status: NWPath.Status
    public let isExpensive: Bool
    public let isConstrained: Bool
    public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool { fatalError() }
}

public enum NWEndpoint: Hashable, Sendable {
    public enum Host: Hashable, Sendable, ExpressibleByStringLiteral {
        case name(String, NWInterface?)

        public init(_ string: String) { fatalError() }
        public init(stringLiteral: StringLiteralType) { fatalError() }
    }

    public struct Port: Hashable, Sendable, ExpressibleByIntegerLiteral, RawRepresentable {
        public let rawValue: UInt16
        public init?(_ service: String) { fatalError() }
        public init?(rawValue: UInt16) { fatalError() }
        public init(integerLiteral value: UInt16) { fatalError() }
        public static let any = NWEndpoint.Port(integerLiteral: 0)
        public static let http = NWEndpoint.Port(integerLiteral: 80)
        public static let https = NWEndpoint.Port(integerLiteral: 443)
    }

    case hostPort(host: NWEndpoint.Host, port: NWEndpoint.Port)
    case unix(path: String)
    case url(URL)
}

public struct NWInterface: Hashable, Sendable {
    public enum InterfaceType: Sendable { case other, wifi, cellular, wiredEthernet, loopback }
}

public class NWProtocolTLS {
    final public class Options {
        public init() {}
    }
}

public struct ProxyConfiguration: Sendable, Hashable {
    public init(httpCONNECTProxy proxyEndpoint: NWEndpoint, tlsOptions: NWProtocolTLS.Options? = nil) {}
    public init(socksv5Proxy proxyEndpoint: NWEndpoint) {}
    public mutating func applyCredential(username: String, password: String) {}
    public var excludedDomains: [String] {
        get { fatalError() }
        set {}
    }
    public var matchDomains: [String] {
        get { fatalError() }
        set {}
    }
    public var allowFailover: Bool {
        get { fatalError() }
        set {}
    }
    public static func == (lhs: ProxyConfiguration, rhs: ProxyConfiguration) -> Bool { fatalError() }
    public func hash(into hasher: inout Hasher) {}
}
