public import Foundation
public import Security

public struct URLRequest: Equatable, Hashable, Sendable {
    public enum CachePolicy: UInt, Sendable {
        case useProtocolCachePolicy = 0
        case reloadIgnoringLocalCacheData = 1
        case reloadIgnoringLocalAndRemoteCacheData = 4
        case returnCacheDataElseLoad = 2
        case returnCacheDataDontLoad = 3
        case reloadRevalidatingCacheData = 5
    }

    public enum NetworkServiceType: UInt, Sendable { case `default`, voip, video, background, voice, responsiveData }

    public init(
        url: URL,
        cachePolicy: URLRequest.CachePolicy = .useProtocolCachePolicy,
        timeoutInterval: TimeInterval = 60.0
    ) { fatalError() }
    public var cachePolicy: URLRequest.CachePolicy {
        get { fatalError() }
        set {}
    }
    public var url: URL? {
        get { fatalError() }
        set {}
    }
    public var timeoutInterval: TimeInterval {
        get { fatalError() }
        set {}
    }
    public var mainDocumentURL: URL? {
        get { fatalError() }
        set {}
    }
    public var networkServiceType: URLRequest.NetworkServiceType {
        get { fatalError() }
        set {}
    }
    public var allowsCellularAccess: Bool {
        get { fatalError() }
        set {}
    }
    public var allowsExpensiveNetworkAccess: Bool {
        get { fatalError() }
        set {}
    }
    public var allowsConstrainedNetworkAccess: Bool {
        get { fatalError() }
        set {}
    }
    public var assumesHTTP3Capable: Bool {
        get { fatalError() }
        set {}
    }
    public var httpMethod: String? {
        get { fatalError() }
        set {}
    }
    public var allHTTPHeaderFields: [String: String]? {
        get { fatalError() }
        set {}
    }
    public func value(forHTTPHeaderField field: String) -> String? { fatalError() }
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {}
    public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {}
    public var httpBody: Data? {
        get { fatalError() }
        set {}
    }
    public var httpBodyStream: InputStream? {
        get { fatalError() }
        set {}
    }
    public var httpShouldHandleCookies: Bool {
        get { fatalError() }
        set {}
    }
    public var httpShouldUsePipelining: Bool {
        get { fatalError() }
        set {}
    }
    public static func == (lhs: URLRequest, rhs: URLRequest) -> Bool { fatalError() }
    public func hash(into hasher: inout Hasher) {}
}

open class URLResponse: NSObject, @unchecked Sendable {
    public init(url: URL, mimeType: String?, expectedContentLength length: Int, textEncodingName name: String?) {}
    open var url: URL? { fatalError() }
    open var mimeType: String? { fatalError() }
    open var expectedContentLength: Int64 { fatalError() }
    open var textEncodingName: String? { fatalError() }
    open var suggestedFilename: String? { fatalError() }
}

open class HTTPURLResponse: URLResponse, @unchecked Sendable {
    public init?(url: URL, statusCode: Int, httpVersion: String?, headerFields: [String: String]?) { fatalError() }
    open var statusCode: Int { fatalError() }
    open var allHeaderFields: [AnyHashable: Any] { fatalError() }
    open func value(forHTTPHeaderField field: String) -> String? { fatalError() }
    open class func localizedString(forStatusCode statusCode: Int) -> String { fatalError() }
}

public let NSURLAuthenticationMethodDefault = ""
public let NSURLAuthenticationMethodHTTPBasic = ""
public let NSURLAuthenticationMethodHTTPDigest = ""
public let NSURLAuthenticationMethodClientCertificate = ""
public let NSURLAuthenticationMethodNTLM = ""
public let NSURLAuthenticationMethodNegotiate = ""
public let NSURLAuthenticationMethodServerTrust = ""
public let NSURLProtectionSpaceHTTPProxy = ""
public let NSURLProtectionSpaceHTTPSProxy = ""

open class URLProtectionSpace: NSObject, @unchecked Sendable {
    open var realm: String? { fatalError() }
    open var receivesCredentialSecurely: Bool { fatalError() }
    open var host: String { fatalError() }
    open var port: Int { fatalError() }
    open var proxyType: String? { fatalError() }
    open var `protocol`: String? { fatalError() }
    open var authenticationMethod: String { fatalError() }
    open var distinguishedNames: [Data]? { fatalError() }
    open var serverTrust: SecTrust? { fatalError() }
}

open class URLCredential: NSObject, @unchecked Sendable {
    public enum Persistence: UInt, Sendable { case none, forSession, permanent, synchronizable }

    public init(user: String, password: String, persistence: URLCredential.Persistence) {}
    public init(identity: SecIdentity, certificates certArray: [Any]?, persistence: URLCredential.Persistence) {}
    public init(trust: SecTrust) {}
    open var persistence: URLCredential.Persistence { fatalError() }
    open var user: String? { fatalError() }
    open var password: String? { fatalError() }
    open var hasPassword: Bool { fatalError() }
    open var identity: SecIdentity? { fatalError() }
    open var certificates: [Any] { fatalError() }
}

open class URLAuthenticationChallenge: NSObject, @unchecked Sendable {
    open var protectionSpace: URLProtectionSpace { fatalError() }
    open var proposedCredential: URLCredential? { fatalError() }
    open var previousFailureCount: Int { fatalError() }
    open var failureResponse: URLResponse? { fatalError() }
    open var error: (any Error)? { fatalError() }
}

// Members that types of Foundation have on Apple's platforms only.

extension URL {
    public static var applicationSupportDirectory: URL { fatalError() }
    public static var cachesDirectory: URL { fatalError() }
    public static var downloadsDirectory: URL { fatalError() }
    public static var documentsDirectory: URL { fatalError() }
    public static var libraryDirectory: URL { fatalError() }
}
