#if os(Linux)
import CurlRuntime

/// The state of one stream in a content coding; used by one thread at a time.
struct ContentDecoder {
    enum Step {
        case more
        case ended
        case failed
    }

    private let pointer: OpaquePointer

    /// The library for `coding` may be in the process, or is loaded.
    static func isAvailable(_ coding: ContentCoding) -> Bool {
        curlrt_coding_available(coding.runtime)
    }

    init?(_ coding: ContentCoding) {
        guard let pointer = curlrt_decoder_make(coding.runtime) else { return nil }
        self.pointer = pointer
    }

    func free() {
        curlrt_decoder_free(pointer)
    }

    /// Decodes until `input` or `output` is used up.
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
#endif
