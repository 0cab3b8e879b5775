public import Foundation
import Errand

extension HARRecorder {
    /// Returns the archive, HAR 1.2 in UTF-8.
    ///
    /// Loads continue during the export. Fields of this library begin with `_`: `_load` and `_loads` contain the IDs of the
    /// loads, `_attempt` the number of the attempt, `_cause` what the load waited for before the attempt, `_state` the state of
    /// the exchange, or `unsent` for a load without one, `_error` the reason of a failure, and `_truncated` whether a body was
    /// shortened.
    public func data() -> Data { HARDocument(self).data }

    /// Writes the archive to a file, which only its owner may read.
    ///
    /// An existing file is replaced when the new one is complete and on the disk; after an error, it is unchanged.
    ///
    /// - Throws: ``WriteError``.
    public func write(to file: URL) throws(WriteError) { try Self.write(data(), to: file) }

    /// Returns the report: one HTML page, which needs no other file and no network.
    ///
    /// It shows each exchange in a waterfall with its phases, headers and bodies, and has filters. A browser opens it from a
    /// file; its contents are never executed.
    public func report() -> Data { ReportPage(self).data }

    /// Writes the report to a file, which only its owner may read.
    ///
    /// An existing file is replaced when the new one is complete and on the disk; after an error, it is unchanged.
    ///
    /// - Throws: ``WriteError``.
    public func writeReport(to file: URL) throws(WriteError) { try Self.write(report(), to: file) }

    private static func write(_ data: Data, to file: URL) throws(WriteError) {
        guard file.isFileURL else { throw WriteError(file, kind: .notAFile, reason: "its URL is not that of a file") }
        let folder = file.deletingLastPathComponent()
        let temporary = folder.appending(path: ".\(UUID().uuidString).part").path(percentEncoded: false)
        do throws(SystemError) {
            try AtomicFile.replace(
                file.path(percentEncoded: false),
                with: Array(data),
                temporary: temporary,
                folder: folder.path(percentEncoded: false)
            )
        } catch {
            throw WriteError(file, error)
        }
    }
}

extension HARRecorder {
    /// The reason why an archive or a report could not be written.
    ///
    /// An existing file at its path is unchanged, unless the new one has its place and only the disk could not be synchronized.
    public struct WriteError: Error, Sendable {
        /// The kinds of failure.
        public enum Kind: Sendable, Hashable {
            /// The URL is not that of a file.
            case notAFile
            /// The folder does not exist; create it first.
            case missingFolder
            /// The process may not write the folder.
            case notPermitted
            /// The disk is full, or the user's quota is used up.
            case diskFull
            /// The system has reported another failure.
            case other
        }

        /// The kind of failure.
        public let kind: Kind
        /// The file.
        public let file: URL
        /// What the system has reported.
        public let reason: String

        init(_ file: URL, kind: Kind, reason: String) {
            (self.file, self.kind, self.reason) = (file, kind, reason)
        }

        init(_ file: URL, _ error: SystemError) {
            let kind: Kind =
                switch error.number {
                case ENOENT, ENOTDIR: .missingFolder
                case EACCES, EPERM, EROFS: .notPermitted
                case ENOSPC, EDQUOT, EFBIG: .diskFull
                default: .other
                }
            self.init(file, kind: kind, reason: error.reason)
        }
    }
}

extension HARRecorder.WriteError: CustomStringConvertible, LocalizedError {
    /// The path, the reason, and what can be done.
    public var description: String {
        let advice: String? =
            switch kind {
            case .notAFile: "use URL(filePath:)"
            case .missingFolder: "create its folder first"
            case .notPermitted: "choose a folder that this user may write"
            case .diskFull: "free some space, or lower HARRecorder.Limits"
            case .other: nil
            }
        return "\(file.path(percentEncoded: false)) cannot be written (\(reason))" + (advice.map { "; \($0)" } ?? "")
    }

    /// The same text.
    public var errorDescription: String? { description }
}
