public import AppleCoreFoundation
public import Dispatch
public import Foundation

public typealias OSStatus = Int32

public var errSecSuccess: OSStatus { 0 }
public var errSecItemNotFound: OSStatus { -25300 }
public var errSecAuthFailed: OSStatus { -25293 }
public var errSecDecode: OSStatus { -26275 }
public var errSecPkcs12VerifyFailure: OSStatus { -25264 }

public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
    fatalError()
}

// They are classes of Core Foundation, without `Sendable`.
public class SecCertificate {}
public class SecIdentity {}
public class SecKey {}
public class SecPolicy {}
public class SecTrust {}

public enum SecTrustResultType: UInt32, Sendable {
    case invalid = 0, proceed = 1, deny = 3, unspecified = 4, recoverableTrustFailure = 5, fatalTrustFailure = 6
    case otherError = 7
}

public enum tls_protocol_version_t: UInt16, Sendable {
    case TLSv10 = 0x0301, TLSv11 = 0x0302, TLSv12 = 0x0303, TLSv13 = 0x0304, DTLSv10 = 0xfeff, DTLSv12 = 0xfefd
}

// Certificates

public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? { fatalError() }
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { fatalError() }
public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? { fatalError() }
public func SecCertificateCopySubjectSummary(_ certificate: SecCertificate) -> CFString? { fatalError() }

// Keys

public func SecKeyCopyExternalRepresentation(
    _ key: SecKey,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? { fatalError() }
public func SecKeyCopyAttributes(_ key: SecKey) -> CFDictionary? { fatalError() }
public func SecKeyGetBlockSize(_ key: SecKey) -> Int { fatalError() }
nonisolated(unsafe) public let kSecAttrKeyType: CFString = ""
nonisolated(unsafe) public let kSecAttrKeyTypeRSA: CFString = ""
nonisolated(unsafe) public let kSecAttrKeyTypeEC: CFString = ""
nonisolated(unsafe) public let kSecAttrKeyTypeECSECPrimeRandom: CFString = ""
nonisolated(unsafe) public let kSecAttrKeySizeInBits: CFString = ""

// Trust

public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy { fatalError() }
public func SecPolicyCreateBasicX509() -> SecPolicy { fatalError() }
public func SecTrustCreateWithCertificates(
    _ certificates: CFTypeRef,
    _ policies: CFTypeRef?,
    _ trust: UnsafeMutablePointer<SecTrust?>
) -> OSStatus { fatalError() }
@discardableResult public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus {
    fatalError()
}
@discardableResult public func SecTrustSetAnchorCertificates(
    _ trust: SecTrust,
    _ anchorCertificates: CFArray?
) -> OSStatus { fatalError() }
@discardableResult public func SecTrustSetAnchorCertificatesOnly(
    _ trust: SecTrust,
    _ anchorCertificatesOnly: Bool
) -> OSStatus { fatalError() }
@discardableResult public func SecTrustSetNetworkFetchAllowed(_ trust: SecTrust, _ allowFetch: Bool) -> OSStatus {
    fatalError()
}
public func SecTrustEvaluateWithError(
    _ trust: SecTrust,
    _ error: UnsafeMutablePointer<CFError?>?
) -> Bool { fatalError() }
@discardableResult public func SecTrustEvaluateAsyncWithError(
    _ trust: SecTrust,
    _ queue: DispatchQueue,
    _ result: @escaping (SecTrust, Bool, CFError?) -> Void
) -> OSStatus { fatalError() }
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { fatalError() }
public func SecTrustGetCertificateCount(_ trust: SecTrust) -> CFIndex { fatalError() }
public func SecTrustCopyKey(_ trust: SecTrust) -> SecKey? { fatalError() }
public func SecTrustCopyExceptions(_ trust: SecTrust) -> CFData? { fatalError() }

// Identities

@discardableResult public func SecPKCS12Import(
    _ pkcs12_data: CFData,
    _ options: CFDictionary,
    _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus { fatalError() }
@discardableResult public func SecIdentityCopyCertificate(
    _ identityRef: SecIdentity,
    _ certificateRef: UnsafeMutablePointer<SecCertificate?>
) -> OSStatus { fatalError() }
nonisolated(unsafe) public let kSecImportExportPassphrase: CFString = ""
nonisolated(unsafe) public let kSecImportToMemoryOnly: CFString = ""
nonisolated(unsafe) public let kSecImportItemIdentity: CFString = ""
nonisolated(unsafe) public let kSecImportItemCertChain: CFString = ""
nonisolated(unsafe) public let kSecImportItemTrust: CFString = ""
