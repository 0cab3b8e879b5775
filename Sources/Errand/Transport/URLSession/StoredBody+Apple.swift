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
            if Self.clone(file.path, to: clone.path) { return append(temporary: clone) }
        }
        try await store(body, progress)
    }

    /// Clones a file, without its flags, of which one prevents that it is removed, and its mode; `false` when it cannot.
    private static func clone(_ file: String, to clone: String) -> Bool {
        guard clonefile(file, clone, 0) == 0 else { return false }
        if chflags(clone, 0) == 0, chmod(clone, 0o600) == 0 { return true }
        unlink(clone)
        return false
    }
}
#endif
