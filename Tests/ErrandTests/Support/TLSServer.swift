#if os(Linux)
import Foundation

/// The server's side of TLS, implemented by OpenSSL, which is found at run time.
// The context is not changed after its creation, and OpenSSL counts its references atomically.
final class TLSServer: @unchecked Sendable {
    private static let library = OpenSSL()

    /// Whether OpenSSL is installed.
    static var isAvailable: Bool { library != nil }

    private let library: OpenSSL
    private let context: OpaquePointer

    /// Creates a context with the certificate and key in `identity`, for the ALPN protocol `name` (RFC 7301).
    init(identity: URL, protocol name: String) throws {
        guard let library = Self.library, let context = library.newContext(library.method()) else {
            throw Unavailable()
        }
        (self.library, self.context) = (library, context)
        let isUsable =
            library.useCertificate(context, identity.path) == 1
            && library.useKey(context, identity.path, OpenSSL.textFile) == 1
        guard isUsable else { throw Unavailable() }
        library.chooseProtocol(context, OpenSSL.chooseOffered, Self.memory(of: name))
    }

    deinit { library.freeContext(context) }

    /// Performs the handshake on an accepted socket, which the caller still closes; `nil` when it fails.
    func accept(_ socket: Int32) -> Connection? {
        guard let session = library.newSession(context) else { return nil }
        let connection = Connection(library, session)
        return library.setSocket(session, socket) == 1 && library.accept(session) == 1 ? connection : nil
    }

    /// A name's length and bytes for OpenSSL, never deallocated.
    private static func memory(of name: String) -> UnsafeMutableRawPointer? {
        let bytes = [UInt8(name.utf8.count)] + name.utf8
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        memory.copyBytes(from: bytes)
        return memory.baseAddress
    }

    struct Unavailable: Error {}

    /// One connection, used on one thread.
    final class Connection {
        private let library: OpenSSL
        private let session: OpaquePointer

        fileprivate init(_ library: OpenSSL, _ session: OpaquePointer) {
            (self.library, self.session) = (library, session)
        }

        deinit { library.freeSession(session) }

        /// Waits for this many bytes; `nil` when the connection ends before.
        func receive(_ count: Int) -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: count)
            var received = 0
            while received < count {
                let step = bytes.withUnsafeMutableBytes { bytes in
                    library.read(session, bytes.baseAddress.map { $0 + received }, Int32(count - received))
                }
                guard step > 0 else { return nil }
                received += Int(step)
            }
            return bytes
        }

        /// Sends all of these bytes; `false` when the connection has ended.
        @discardableResult func send(_ bytes: [UInt8]) -> Bool {
            bytes.withUnsafeBytes { library.write(session, $0.baseAddress, Int32($0.count)) } > 0
        }
    }
}

/// The functions of OpenSSL 1.1 or 3 that a server needs.
private struct OpenSSL {
    typealias Pointer = OpaquePointer
    typealias ProtocolChoice =
        @convention(c) (
            Pointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?,
            UnsafePointer<UInt8>?, UInt32, UnsafeMutableRawPointer?
        ) -> Int32

    /// `SSL_FILETYPE_PEM`.
    static let textFile: Int32 = 1
    private static let accepted: Int32 = 0
    private static let refused: Int32 = 2

    let method: @convention(c) () -> Pointer?
    let newContext: @convention(c) (Pointer?) -> Pointer?
    let freeContext: @convention(c) (Pointer) -> Void
    let useCertificate: @convention(c) (Pointer, UnsafePointer<CChar>) -> Int32
    let useKey: @convention(c) (Pointer, UnsafePointer<CChar>, Int32) -> Int32
    let chooseProtocol: @convention(c) (Pointer, ProtocolChoice, UnsafeMutableRawPointer?) -> Void
    let newSession: @convention(c) (Pointer) -> Pointer?
    let freeSession: @convention(c) (Pointer) -> Void
    let setSocket: @convention(c) (Pointer, Int32) -> Int32
    let accept: @convention(c) (Pointer) -> Int32
    let read: @convention(c) (Pointer, UnsafeMutableRawPointer?, Int32) -> Int32
    let write: @convention(c) (Pointer, UnsafeRawPointer?, Int32) -> Int32

    init?() {
        guard let library = Self.library() else { return nil }
        func bind<Function>(_ name: String) -> Function {
            unsafeBitCast(dlsym(library, name), to: Function.self)
        }
        method = bind("TLS_server_method")
        newContext = bind("SSL_CTX_new")
        freeContext = bind("SSL_CTX_free")
        useCertificate = bind("SSL_CTX_use_certificate_chain_file")
        useKey = bind("SSL_CTX_use_PrivateKey_file")
        chooseProtocol = bind("SSL_CTX_set_alpn_select_cb")
        newSession = bind("SSL_new")
        freeSession = bind("SSL_free")
        setSocket = bind("SSL_set_fd")
        accept = bind("SSL_accept")
        read = bind("SSL_read")
        write = bind("SSL_write")
    }

    /// Returns the OpenSSL that libcurl has brought into the process, or else the machine's.
    ///
    /// A second one would be linked with the libcrypto of the first, which may be of another version.
    private static func library() -> UnsafeMutableRawPointer? {
        let process = dlopen(nil, RTLD_NOW)
        if dlsym(process, "TLS_server_method") != nil { return process }
        return dlopen("libssl.so.3", RTLD_NOW) ?? dlopen("libssl.so.1.1", RTLD_NOW)
    }

    /// Selects the protocol when the client offers it.
    static let chooseOffered: ProtocolChoice = { _, chosen, length, offered, count, wanted in
        guard let offered, let wanted = wanted?.assumingMemoryBound(to: UInt8.self) else { return refused }
        var position = 0
        while position < Int(count) {
            let size = Int(offered[position])
            if size == Int(wanted[0]), memcmp(offered + position, wanted, size + 1) == 0 {
                chosen?.pointee = offered + position + 1
                length?.pointee = UInt8(size)
                return accepted
            }
            position += size + 1
        }
        // `SSL_TLSEXT_ERR_NOACK`: for HTTP/1.1, to which a client may turn.
        return 3
    }
}
#endif
