#if os(Linux)
import CurlRuntime

/// A set of transfers that run together; used by one thread, except for ``wake()``.
struct CurlMulti {
    private let pointer: OpaquePointer

    /// `nil` when there is no memory or no descriptor.
    init?() {
        guard let pointer = curlrt_multi_make() else { return nil }
        self.pointer = pointer
    }

    /// The set must be empty; closes its connections.
    func free() { curlrt_multi_free(pointer) }

    func set(_ option: CurlMultiOption, to value: Int) {
        _ = curlrt_multi_set_number(pointer, option.rawValue, value)
    }

    func add(_ easy: CurlEasy) -> Bool { curlrt_multi_add(pointer, easy.pointer) == 0 }

    /// A transfer that is not finished closes its connection or resets its stream.
    func remove(_ easy: CurlEasy) { _ = curlrt_multi_remove(pointer, easy.pointer) }

    func perform() { _ = curlrt_multi_perform(pointer) }

    /// Also ends with one of libcurl's timers, and by ``wake()``.
    func wait(milliseconds: Int32) { _ = curlrt_multi_wait(pointer, milliseconds) }

    /// Called on any thread.
    func wake() { _ = curlrt_multi_wake(pointer) }

    func nextFinished() -> (easy: CurlEasy, code: CurlCode)? {
        var code: Int32 = 0
        guard let easy = curlrt_multi_next_finished(pointer, &code) else { return nil }
        return (CurlEasy(easy), CurlCode(rawValue: code))
    }
}
#endif
