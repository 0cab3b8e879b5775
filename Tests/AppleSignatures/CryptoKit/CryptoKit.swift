public import Foundation

public enum CryptoKitError: Error {
    case incorrectKeySize
    case incorrectParameterSize
    case authenticationFailure
    case underlyingCoreCryptoError(error: Int32)
    case wrapFailure
    case unwrapFailure
    case invalidParameter
}

public protocol Digest: Hashable, ContiguousBytes, CustomStringConvertible, Sequence, Sendable
where Element == UInt8 {
    static var byteCount: Int { get }
}

extension Digest {
    public func makeIterator() -> Array<UInt8>.Iterator { fatalError() }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { fatalError() }
    public var description: String { fatalError() }
    public static func == <D: DataProtocol>(lhs: Self, rhs: D) -> Bool { fatalError() }
}

public protocol HashFunction {
    static var blockByteCount: Int { get }
    associatedtype Digest: CryptoKit.Digest
    init()
    mutating func update(bufferPointer: UnsafeRawBufferPointer)
    func finalize() -> Self.Digest
}

extension HashFunction {
    public static func hash<D: DataProtocol>(data: D) -> Self.Digest { fatalError() }
    public mutating func update<D: DataProtocol>(data: D) {}
}

public struct SHA256Digest: Digest { public static var byteCount: Int { 32 } }

public struct SHA256: HashFunction, Sendable {
    public static var blockByteCount: Int { 64 }
    public init() {}
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
    public func finalize() -> SHA256Digest { fatalError() }
}

public struct SHA512Digest: Digest { public static var byteCount: Int { 64 } }

public struct SHA512: HashFunction, Sendable {
    public static var blockByteCount: Int { 128 }
    public init() {}
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
    public func finalize() -> SHA512Digest { fatalError() }
}

public enum Insecure {
    public struct MD5Digest: CryptoKit.Digest { public static var byteCount: Int { 16 } }
    public struct SHA1Digest: CryptoKit.Digest { public static var byteCount: Int { 20 } }

    public struct MD5: HashFunction, Sendable {
        public static var blockByteCount: Int { 64 }
        public init() {}
        public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
        public func finalize() -> Insecure.MD5Digest { fatalError() }
    }

    public struct SHA1: HashFunction, Sendable {
        public static var blockByteCount: Int { 64 }
        public init() {}
        public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
        public func finalize() -> Insecure.SHA1Digest { fatalError() }
    }
}

public struct SymmetricKeySize: Sendable {
    public let bitCount: Int
    public static var bits128: SymmetricKeySize { fatalError() }
    public static var bits192: SymmetricKeySize { fatalError() }
    public static var bits256: SymmetricKeySize { fatalError() }
    public init(bitCount: Int) { fatalError() }
}

public struct SymmetricKey: ContiguousBytes, Sendable, Equatable {
    public var bitCount: Int { fatalError() }
    public init<D: ContiguousBytes>(data: D) {}
    public init(size: SymmetricKeySize) {}
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { fatalError() }
}

public struct HashedAuthenticationCode<H: HashFunction>: ContiguousBytes, Sequence, Hashable, Sendable {
    public func makeIterator() -> Array<UInt8>.Iterator { fatalError() }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { fatalError() }
}

public struct HMAC<H: HashFunction> {
    public typealias Key = SymmetricKey
    public typealias MAC = HashedAuthenticationCode<H>

    public init(key: SymmetricKey) {}
    public static func authenticationCode<D: DataProtocol>(for data: D, using key: SymmetricKey) -> HMAC<H>.MAC {
        fatalError()
    }
    public static func isValidAuthenticationCode<D: DataProtocol>(
        _ mac: HMAC<H>.MAC,
        authenticating authenticatedData: D,
        using key: SymmetricKey
    ) -> Bool { fatalError() }
    public mutating func update<D: DataProtocol>(data: D) {}
    public func finalize() -> HMAC<H>.MAC { fatalError() }
}

public enum AES {
    public enum GCM {
        public struct Nonce: Sendable, ContiguousBytes, Sequence {
            public init() {}
            public init<D: DataProtocol>(data: D) throws {}
            public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
                fatalError()
            }
            public func makeIterator() -> Array<UInt8>.Iterator { fatalError() }
        }

        public struct SealedBox: Sendable {
            public init<D: DataProtocol>(combined: D) throws {}
            public init<C: DataProtocol, T: DataProtocol>(
                nonce: AES.GCM.Nonce,
                ciphertext: C,
                tag: T
            ) throws {}
            public var nonce: AES.GCM.Nonce { fatalError() }
            public var ciphertext: Data { fatalError() }
            public var tag: Data { fatalError() }
            public var combined: Data? { fatalError() }
        }

        public static func seal<P: DataProtocol>(
            _ message: P,
            using key: SymmetricKey,
            nonce: AES.GCM.Nonce? = nil
        ) throws -> AES.GCM.SealedBox { fatalError() }
        public static func seal<P: DataProtocol, A: DataProtocol>(
            _ message: P,
            using key: SymmetricKey,
            nonce: AES.GCM.Nonce? = nil,
            authenticating authenticatedData: A
        ) throws -> AES.GCM.SealedBox { fatalError() }
        public static func open(_ sealedBox: AES.GCM.SealedBox, using key: SymmetricKey) throws -> Data {
            fatalError()
        }
        public static func open<A: DataProtocol>(
            _ sealedBox: AES.GCM.SealedBox,
            using key: SymmetricKey,
            authenticating authenticatedData: A
        ) throws -> Data { fatalError() }
    }
}

public enum ChaChaPoly {
    public struct Nonce: Sendable, ContiguousBytes, Sequence {
        public init() {}
        public init<D: DataProtocol>(data: D) throws {}
        public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { fatalError() }
        public func makeIterator() -> Array<UInt8>.Iterator { fatalError() }
    }

    public struct SealedBox: Sendable {
        public init<D: DataProtocol>(combined: D) throws {}
        public init<C: DataProtocol, T: DataProtocol>(nonce: ChaChaPoly.Nonce, ciphertext: C, tag: T) throws {}
        public var nonce: ChaChaPoly.Nonce { fatalError() }
        public var ciphertext: Data { fatalError() }
        public var tag: Data { fatalError() }
        public var combined: Data { fatalError() }
    }

    public static func seal<P: DataProtocol>(
        _ message: P,
        using key: SymmetricKey,
        nonce: ChaChaPoly.Nonce? = nil
    ) throws -> ChaChaPoly.SealedBox { fatalError() }
    public static func seal<P: DataProtocol, A: DataProtocol>(
        _ message: P,
        using key: SymmetricKey,
        nonce: ChaChaPoly.Nonce? = nil,
        authenticating authenticatedData: A
    ) throws -> ChaChaPoly.SealedBox { fatalError() }
    public static func open(_ sealedBox: ChaChaPoly.SealedBox, using key: SymmetricKey) throws -> Data { fatalError() }
    public static func open<A: DataProtocol>(
        _ sealedBox: ChaChaPoly.SealedBox,
        using key: SymmetricKey,
        authenticating authenticatedData: A
    ) throws -> Data { fatalError() }
}
