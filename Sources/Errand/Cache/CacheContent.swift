import Foundation

/// What is to be stored of a body.
enum CacheContent {
    case data(Data)
    /// The file of a download that has not got its place yet.
    case file(URL)

    /// Each chunk but the last one has a multiple of 8 bytes.
    func forEachChunk(
        _ body: (UnsafeRawBufferPointer) throws(SystemError) -> Void
    ) throws(SystemError) {
        switch self {
        case .data(let data):
            try data.withUnsafeBytes { bytes in Result { () throws(SystemError) in try body(bytes) } }.get()
        case .file(let url):
            let file = try FileDescriptor(opening: url.path, O_RDONLY | O_NOFOLLOW)
            var offset: Int64 = 0
            let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
            defer { chunk.deallocate() }
            while true {
                let count = try file.fill(chunk, at: offset)
                guard count > 0 else { return }
                try body(UnsafeRawBufferPointer(rebasing: chunk[..<count]))
                offset += Int64(count)
            }
        }
    }
}
