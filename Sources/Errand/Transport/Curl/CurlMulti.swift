#if os(Linux)
import CurlRuntime

/// A set of transfers that run together; used by one thread, except for ``wake()``.
struct CurlMulti {
    private let pointer: OpaquePointer

    /// Creates an empty set; `nil` when there is no memory or no descriptor.
    init?() {
        guard let pointer = curlrt_multi_make() else { return nil }
        self.pointer = pointer
    }

    /// Frees the set, which must be empty, and closes its connections.
    func free() { curlrt_multi_free(pointer) }

    func set(_ option: CurlMultiOption, to value: Int) {
        _ = curlrt_multi_set_number(pointer, option.rawValue, value)
    }

    func add(_ easy: CurlEasy) -> Bool { curlrt_multi_add(pointer, easy.pointer) == 0 }

    /// Ends a transfer; one that is not finished closes its connection or resets its stream.
    func remove(_ easy: CurlEasy) { _ = curlrt_multi_remove(pointer, easy.pointer) }

    func perform() { _ = curlrt_multi_perform(pointer) }

    /// Waits for a byte, one of libcurl's timers, `milliseconds` or ``wake()``.
    func wait(milliseconds: Int32) { _ = curlrt_multi_wait(pointer, milliseconds) }

    /// Ends ``wait(milliseconds:)``; called on any thread.
    func wake() { _ = curlrt_multi_wake(pointer) }

    /// Removes the next finished transfer, and returns it with its result.
    func nextFinished() -> (easy: CurlEasy, code: CurlCode)? {
        var code: Int32 = 0
        guard let easy = curlrt_multi_next_finished(pointer, &code) else { return nil }
        return (CurlEasy(easy), CurlCode(rawValue: code))
    }
}
#endif
