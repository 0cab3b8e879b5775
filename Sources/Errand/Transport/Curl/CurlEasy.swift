#if os(Linux)
import CurlRuntime

/// A transfer handle of libcurl; used by one thread at a time.
struct CurlEasy: Equatable {
    let pointer: OpaquePointer

    init?() {
        guard let pointer = curlrt_easy_make() else { return nil }
        self.pointer = pointer
    }

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    func free() { curlrt_easy_free(pointer) }
    var privatePointer: UnsafeMutableRawPointer? { curlrt_easy_private(pointer) }

    func number(_ info: CurlInfo) -> Int { curlrt_easy_number(pointer, info.number) }

    /// `nil` when libcurl does not know it.
    func size(_ info: CurlSizeInfo) -> Int64? {
        let value = curlrt_easy_size(pointer, info.number)
        return value >= 0 ? value : nil
    }

    /// Empty when there is none.
    func text(_ info: CurlInfo) -> String { curlrt_easy_text(pointer, info.number).map { String(cString: $0) } ?? "" }

    /// Returns whether this libcurl has the option and accepts the number.
    @discardableResult
    func set(_ option: CurlOption<Int>, to value: Int) -> Bool {
        curlrt_easy_set_number(pointer, option.number, value) == 0
    }

    func set(_ option: CurlOption<Int64>, to value: Int64) { _ = curlrt_easy_set_size(pointer, option.number, value) }

    /// Returns whether this libcurl has the option and accepts the text, which it copies.
    @discardableResult
    func set(_ option: CurlOption<String>, to value: String?) -> Bool {
        guard let value else { return curlrt_easy_set_pointer(pointer, option.number, nil) == 0 }
        return value.withCString { curlrt_easy_set_pointer(pointer, option.number, $0) == 0 }
    }

    /// The pointer must stay valid while it is set.
    func set(_ option: CurlOption<UnsafeRawPointer>, to value: UnsafeRawPointer?) {
        _ = curlrt_easy_set_pointer(pointer, option.number, value)
    }

    func set(_ option: CurlOption<CurlTransferFunction>, to function: CurlTransferFunction) {
        _ = curlrt_easy_set_transfer(pointer, option.number, function)
    }

    func set(_ option: CurlOption<CurlSeekFunction>, to function: CurlSeekFunction) {
        _ = curlrt_easy_set_seek(pointer, option.number, function)
    }

    /// Called before the request is sent on a connection; returns whether this libcurl has the option (7.80).
    func set(_ option: CurlOption<CurlPrereqFunction>, to function: CurlPrereqFunction) -> Bool {
        curlrt_easy_set_prereq(pointer, option.number, function) == 0
    }

    /// Calls the write callback that has paused the transfer before it returns.
    func resume() -> CurlCode { CurlCode(rawValue: curlrt_easy_resume(pointer)) }

    /// Changes `connecting` whenever the transfer starts a name lookup or opens a socket, and makes its sockets close-on-exec.
    func observeConnecting(_ connecting: UnsafeMutablePointer<CurlConnecting>) {
        curlrt_easy_observe_connecting(pointer, connecting.steps)
    }

    /// Changes `connecting` whenever the transfer starts a TLS handshake, where that delays none.
    func observeHandshakes(_ connecting: UnsafeMutablePointer<CurlConnecting>) {
        guard !CurlLibrary.loadsAuthoritiesLate else { return }
        curlrt_easy_observe_handshakes(pointer, connecting.steps)
    }

    /// `connecting` is the same as in ``observeConnecting(_:)``; its step is 0 while a request is sent.
    func limitTunnel(_ connecting: UnsafeMutablePointer<CurlConnecting>) {
        curlrt_easy_limit_tunnel(pointer, connecting.steps)
    }

    static let tunnelLimit = Int64(curlrt_tunnel_limit)
}

extension UnsafeMutablePointer<CurlConnecting> {
    fileprivate var steps: UnsafeMutablePointer<curlrt_connecting> {
        UnsafeMutableRawPointer(self).assumingMemoryBound(to: curlrt_connecting.self)
    }
}
#endif
