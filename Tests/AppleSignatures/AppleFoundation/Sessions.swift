public import Foundation
public import Network
public import Security

public struct CachedURLResponse {}
open class URLCache: NSObject, @unchecked Sendable {}
open class URLCredentialStorage: NSObject, @unchecked Sendable {}

open class HTTPCookie: NSObject, @unchecked Sendable {
    public enum AcceptPolicy: UInt, Sendable { case always, never, onlyFromMainDocumentDomain }

    open var name: String { fatalError() }
    open var value: String { fatalError() }
    open var domain: String { fatalError() }
    open var path: String { fatalError() }
    open var expiresDate: Date? { fatalError() }
    open var isSecure: Bool { fatalError() }
}

open class HTTPCookieStorage: NSObject, @unchecked Sendable {
    open class var shared: HTTPCookieStorage { fatalError() }
    open var cookies: [HTTPCookie]? { fatalError() }
}

open class URLSessionConfiguration: NSObject, @unchecked Sendable {
    open class var `default`: URLSessionConfiguration { fatalError() }
    open class var ephemeral: URLSessionConfiguration { fatalError() }
    open class func background(withIdentifier identifier: String) -> URLSessionConfiguration { fatalError() }
    open var identifier: String? { fatalError() }
    open var requestCachePolicy: URLRequest.CachePolicy = .useProtocolCachePolicy
    open var timeoutIntervalForRequest: TimeInterval = 0
    open var timeoutIntervalForResource: TimeInterval = 0
    open var networkServiceType: URLRequest.NetworkServiceType = .default
    open var allowsCellularAccess: Bool = true
    open var allowsExpensiveNetworkAccess: Bool = true
    open var allowsConstrainedNetworkAccess: Bool = true
    open var waitsForConnectivity: Bool = false
    open var isDiscretionary: Bool = false
    open var connectionProxyDictionary: [AnyHashable: Any]?
    open var proxyConfigurations: [ProxyConfiguration] = []
    open var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t = .TLSv12
    open var tlsMaximumSupportedProtocolVersion: tls_protocol_version_t = .TLSv13
    open var httpShouldUsePipelining: Bool = false
    open var httpShouldSetCookies: Bool = true
    open var httpCookieAcceptPolicy: HTTPCookie.AcceptPolicy = .always
    open var httpAdditionalHeaders: [AnyHashable: Any]?
    open var httpMaximumConnectionsPerHost: Int = 0
    open var httpCookieStorage: HTTPCookieStorage?
    open var urlCredentialStorage: URLCredentialStorage?
    open var urlCache: URLCache?
    open var shouldUseExtendedBackgroundIdleMode: Bool = false
    open var protocolClasses: [AnyClass]?
}

open class URLSession: NSObject, @unchecked Sendable {
    public enum ResponseDisposition: Int, Sendable { case cancel, allow, becomeDownload, becomeStream }
    public enum AuthChallengeDisposition: Int, Sendable {
        case useCredential, performDefaultHandling, cancelAuthenticationChallenge, rejectProtectionSpace
    }

    public enum DelayedRequestDisposition: Int, Sendable { case continueLoading, useNewRequest, cancel }

    open class var shared: URLSession { fatalError() }
    public convenience init(configuration: URLSessionConfiguration) { fatalError() }
    public convenience init(
        configuration: URLSessionConfiguration,
        delegate: (any URLSessionDelegate)?,
        delegateQueue queue: OperationQueue?
    ) { fatalError() }
    open var delegateQueue: OperationQueue { fatalError() }
    open var delegate: (any URLSessionDelegate)? { fatalError() }
    open var configuration: URLSessionConfiguration { fatalError() }
    open var sessionDescription: String?
    open func finishTasksAndInvalidate() {}
    open func invalidateAndCancel() {}
    open func reset(completionHandler: @escaping @Sendable () -> Void) {}
    open func flush(completionHandler: @escaping @Sendable () -> Void) {}
    open func getAllTasks(completionHandler: @escaping @Sendable ([URLSessionTask]) -> Void) {}
    open func dataTask(with request: URLRequest) -> URLSessionDataTask { fatalError() }
    open func dataTask(with url: URL) -> URLSessionDataTask { fatalError() }
    open func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask { fatalError() }
    open func uploadTask(with request: URLRequest, from bodyData: Data) -> URLSessionUploadTask { fatalError() }
    open func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask { fatalError() }
    open func downloadTask(with request: URLRequest) -> URLSessionDownloadTask { fatalError() }
    open func dataTask(
        with request: URLRequest,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask { fatalError() }
    public func data(
        for request: URLRequest,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) { fatalError() }
    public func data(
        from url: URL,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) { fatalError() }
}

open class URLSessionTask: NSObject, @unchecked Sendable {
    public enum State: Int, Sendable { case running, suspended, canceling, completed }

    open var taskIdentifier: Int { fatalError() }
    open var originalRequest: URLRequest? { fatalError() }
    open var currentRequest: URLRequest? { fatalError() }
    open var response: URLResponse? { fatalError() }
    open var delegate: (any URLSessionTaskDelegate)?
    open var progress: Progress { fatalError() }
    open var earliestBeginDate: Date?
    open var countOfBytesClientExpectsToSend: Int64 = 0
    open var countOfBytesClientExpectsToReceive: Int64 = 0
    open var countOfBytesReceived: Int64 { fatalError() }
    open var countOfBytesSent: Int64 { fatalError() }
    open var countOfBytesExpectedToSend: Int64 { fatalError() }
    open var countOfBytesExpectedToReceive: Int64 { fatalError() }
    open var taskDescription: String?
    open var state: URLSessionTask.State { fatalError() }
    open var error: (any Error)? { fatalError() }
    open var priority: Float = 0.5
    open var prefersIncrementalDelivery: Bool = true
    open func cancel() {}
    open func suspend() {}
    open func resume() {}
    public class var defaultPriority: Float { 0.5 }
    public class var lowPriority: Float { 0.25 }
    public class var highPriority: Float { 0.75 }
}

open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}
open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}
open class URLSessionDownloadTask: URLSessionTask, @unchecked Sendable {}
open class URLSessionStreamTask: URLSessionTask, @unchecked Sendable {}

open class URLSessionTaskMetrics: NSObject, @unchecked Sendable {
    open var transactionMetrics: [URLSessionTaskTransactionMetrics] { fatalError() }
    open var taskInterval: DateInterval { fatalError() }
    open var redirectCount: Int { fatalError() }
}

open class URLSessionTaskTransactionMetrics: NSObject, @unchecked Sendable {
    public enum ResourceFetchType: Int, Sendable { case unknown, networkLoad, serverPush, localCache }

    open var request: URLRequest { fatalError() }
    open var response: URLResponse? { fatalError() }
    open var fetchStartDate: Date? { fatalError() }
    open var domainLookupStartDate: Date? { fatalError() }
    open var domainLookupEndDate: Date? { fatalError() }
    open var connectStartDate: Date? { fatalError() }
    open var secureConnectionStartDate: Date? { fatalError() }
    open var secureConnectionEndDate: Date? { fatalError() }
    open var connectEndDate: Date? { fatalError() }
    open var requestStartDate: Date? { fatalError() }
    open var requestEndDate: Date? { fatalError() }
    open var responseStartDate: Date? { fatalError() }
    open var responseEndDate: Date? { fatalError() }
    open var networkProtocolName: String? { fatalError() }
    open var isProxyConnection: Bool { fatalError() }
    open var isReusedConnection: Bool { fatalError() }
    open var resourceFetchType: URLSessionTaskTransactionMetrics.ResourceFetchType { fatalError() }
    open var countOfRequestHeaderBytesSent: Int64 { fatalError() }
    open var countOfRequestBodyBytesSent: Int64 { fatalError() }
    open var countOfRequestBodyBytesBeforeEncoding: Int64 { fatalError() }
    open var countOfResponseHeaderBytesReceived: Int64 { fatalError() }
    open var countOfResponseBodyBytesReceived: Int64 { fatalError() }
    open var countOfResponseBodyBytesAfterDecoding: Int64 { fatalError() }
    open var localAddress: String? { fatalError() }
    open var remoteAddress: String? { fatalError() }
    public var localPort: Int? { fatalError() }
    public var remotePort: Int? { fatalError() }
    public var negotiatedTLSProtocolVersion: tls_protocol_version_t? { fatalError() }
    open var isCellular: Bool { fatalError() }
    open var isExpensive: Bool { fatalError() }
    open var isConstrained: Bool { fatalError() }
    open var isMultipath: Bool { fatalError() }
}
