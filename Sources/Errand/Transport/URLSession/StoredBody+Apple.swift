#if canImport(Darwin)
import Darwin
import Foundation

// Untested.
extension StoredBody {
    /// Stores the whole body in one file.
    ///
    /// A body of one file is cloned (`clonefile(2)`), which takes neither time nor space: a session reads the length before the
    /// bytes, and the file of the app could change between them. On a volume without clones, the bytes are copied.
    mutating func storeParts(of body: HTTPBody, _ progress: StoringProgress) async throws(TransportError) {
        if body.pieces.count == 1, case .file(let file) = body.pieces[0] {
            let clone = Self.temporaryFile()
            if clonefile(file.path, clone.path, 0) == 0 { return append(temporary: clone) }
        }
        try await store(body, progress)
    }
}
#endif
