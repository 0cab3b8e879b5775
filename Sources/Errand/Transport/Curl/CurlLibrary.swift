#if os(Linux)
import CurlRuntime

/// The libcurl that is already loaded in the process, bound at run time.
///
/// Only this file imports the C declarations.
enum CurlLibrary {
    /// The reason why libcurl cannot be used; `nil` when it can.
    static let unavailableReason: String? = curlrt_unavailable().map { String(cString: $0) }

    /// The version as text, such as `7.88.1`.
    static var version: String { String(cString: curlrt_version()) }

    /// The version as 0xXXYYZZ.
    static var versionNumber: UInt32 { curlrt_version_number() }

    /// Whether ``CurlInfo/usedProxy`` is known.
    static let reportsUsedProxy = versionNumber >= 0x08_0700

    /// Whether ``CurlInfo/requestSize`` counts all bytes of bodies; otherwise only those that are sent with the header lines.
    static let countsBodiesOfRequests = versionNumber >= 0x08_0700

    /// Whether it supports HTTP/3 and falls back to other versions, since 7.88; `CURL_VERSION_HTTP3` of its features.
    static let supportsHTTP3 = versionNumber >= 0x07_5800 && curlrt_features() & 1 << 25 != 0

    /// Returns libcurl's number of an option; -1 when it has no option of that name.
    static func optionNumber(named name: String) -> Int32 {
        curlrt_option_number(name)
    }

    /// Calls `body`, which uses libcurl.
    ///
    /// The exit of the process waits for `body`; once the exit has begun, this does not return.
    static func performWork(_ body: () -> Void) {
        curlrt_enter()
        body()
        curlrt_leave()
    }

    /// Blocks SIGPIPE on the calling thread, which would end the process at a write to a closed connection.
    static func blockSIGPIPE() {
        curlrt_block_sigpipe()
    }

    /// Returns libcurl's message for a result code.
    static func errorText(for code: Int32) -> String {
        String(cString: curlrt_error_text(code))
    }
}

/// The state of one stream in a content coding; used by one thread at a time.
struct CurlDecoder {
    /// The result of a step.
    enum Step {
        case more
        case ended
        case failed
    }

    private let pointer: OpaquePointer

    /// Returns whether the library for `coding` is in the process or can be loaded.
    static func isAvailable(_ coding: ContentCoding) -> Bool {
        curlrt_coding_available(coding.runtime)
    }

    /// Creates a decoder; `nil` when the coding is not available.
    init?(_ coding: ContentCoding) {
        guard let pointer = curlrt_decoder_make(coding.runtime) else { return nil }
        self.pointer = pointer
    }

    /// Frees the decoder.
    func free() {
        curlrt_decoder_free(pointer)
    }

    /// Decodes from `input` to `output` until one of them is used up, and removes the decoded bytes from `input`.
    func decode(_ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> (Step, Int) {
        var next = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var count = input.count
        var room = output.count
        let target = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let result = curlrt_decode(pointer, &next, &count, target, &room)
        input = UnsafeRawBufferPointer(start: next, count: count)
        let step: Step = result == curlrt_decode_failed ? .failed : result == curlrt_decode_ended ? .ended : .more
        return (step, output.count - room)
    }
}

extension ContentCoding {
    fileprivate var runtime: curlrt_coding {
        switch self {
        case .gzip: curlrt_gzip
        case .deflate: curlrt_deflate
        case .brotli: curlrt_brotli
        case .zstd: curlrt_zstd
        }
    }
}

/// A transfer handle of libcurl; used by one thread at a time.
struct CurlEasy: Equatable {
    /// The C handle.
    let pointer: OpaquePointer

    /// Creates a handle; `nil` when there is no memory.
    init?() {
        guard let pointer = curlrt_easy_make() else { return nil }
        self.pointer = pointer
    }

    fileprivate init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    /// Frees the handle.
    func free() {
        curlrt_easy_free(pointer)
    }

    /// The value of ``CurlOption/private``.
    var privatePointer: UnsafeMutableRawPointer? {
        curlrt_easy_private(pointer)
    }

    /// Returns a number that libcurl reports for the transfer.
    func number(_ info: CurlInfo) -> Int {
        curlrt_easy_number(pointer, info.number)
    }

    /// Returns a size, an identifier or a time that libcurl reports for the transfer; `nil` when it does not know it.
    func size(_ info: CurlSizeInfo) -> Int64? {
        let value = curlrt_easy_size(pointer, info.number)
        return value >= 0 ? value : nil
    }

    /// Returns text that libcurl reports for the transfer; empty when there is none.
    func text(_ info: CurlInfo) -> String {
        curlrt_easy_text(pointer, info.number).map { String(cString: $0) } ?? ""
    }

    /// Sets a number.
    ///
    /// - Returns: Whether this libcurl has the option and accepts the number.
    @discardableResult
    func set(_ option: CurlOption<Int>, to value: Int) -> Bool {
        curlrt_easy_set_number(pointer, option.number, value) == 0
    }

    /// Sets a number of bytes.
    func set(_ option: CurlOption<Int64>, to value: Int64) {
        _ = curlrt_easy_set_size(pointer, option.number, value)
    }

    /// Sets text, which libcurl copies, or removes it.
    ///
    /// - Returns: Whether this libcurl has the option and accepts the text.
    @discardableResult
    func set(_ option: CurlOption<String>, to value: String?) -> Bool {
        guard let value else { return curlrt_easy_set_pointer(pointer, option.number, nil) == 0 }
        return value.withCString { curlrt_easy_set_pointer(pointer, option.number, $0) == 0 }
    }

    /// Sets a pointer, which must stay valid while it is set.
    func set(_ option: CurlOption<UnsafeRawPointer>, to value: UnsafeRawPointer?) {
        _ = curlrt_easy_set_pointer(pointer, option.number, value)
    }

    /// Sets a function that receives bytes or fills a buffer.
    func set(_ option: CurlOption<CurlTransferFunction>, to function: CurlTransferFunction) {
        _ = curlrt_easy_set_transfer(pointer, option.number, function)
    }

    /// Sets the function that moves to a position in the request's body.
    func set(_ option: CurlOption<CurlSeekFunction>, to function: CurlSeekFunction) {
        _ = curlrt_easy_set_seek(pointer, option.number, function)
    }

    /// Sets the function that is called before the request is sent on a connection.
    ///
    /// - Returns: Whether this libcurl has the option (7.80).
    func set(_ option: CurlOption<CurlPrereqFunction>, to function: CurlPrereqFunction) -> Bool {
        curlrt_easy_set_prereq(pointer, option.number, function) == 0
    }

    /// Continues a transfer that a write callback has paused, and calls that before it returns.
    func resume() -> CurlCode {
        CurlCode(rawValue: curlrt_easy_resume(pointer))
    }

    /// Changes `connecting` whenever the transfer starts a name lookup or opens a socket, and makes its sockets close-on-exec.
    func observeConnecting(_ connecting: UnsafeMutablePointer<CurlConnecting>) {
        let steps = UnsafeMutableRawPointer(connecting).assumingMemoryBound(to: curlrt_connecting.self)
        curlrt_easy_observe_connecting(pointer, steps)
    }
}

/// A set of transfers that run together; used by one thread, except for ``wake()``.
struct CurlMulti {
    private let pointer: OpaquePointer

    /// Creates an empty set; `nil` when there is no memory or no descriptor.
    init?() {
        guard let pointer = curlrt_multi_make() else { return nil }
        self.pointer = pointer
    }

    /// Frees the set, which must be empty, and closes its connections.
    func free() {
        curlrt_multi_free(pointer)
    }

    /// Sets a number.
    func set(_ option: CurlMultiOption, to value: Int) {
        _ = curlrt_multi_set_number(pointer, option.rawValue, value)
    }

    /// Starts a transfer; `false` when it cannot.
    func add(_ easy: CurlEasy) -> Bool {
        curlrt_multi_add(pointer, easy.pointer) == 0
    }

    /// Ends a transfer; one that is not finished closes its connection or resets its stream.
    func remove(_ easy: CurlEasy) {
        _ = curlrt_multi_remove(pointer, easy.pointer)
    }

    /// Transfers every byte that can be transferred without waiting.
    func perform() {
        _ = curlrt_multi_perform(pointer)
    }

    /// Waits for a byte, one of libcurl's timers, `milliseconds` or ``wake()``.
    func wait(milliseconds: Int32) {
        _ = curlrt_multi_wait(pointer, milliseconds)
    }

    /// Ends ``wait(milliseconds:)``; called on any thread.
    func wake() {
        _ = curlrt_multi_wake(pointer)
    }

    /// Removes the next finished transfer, and returns it with its result.
    func nextFinished() -> (easy: CurlEasy, code: CurlCode)? {
        var code: Int32 = 0
        guard let easy = curlrt_multi_next_finished(pointer, &code) else { return nil }
        return (CurlEasy(easy), CurlCode(rawValue: code))
    }
}
#endif
