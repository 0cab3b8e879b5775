import Foundation
import Synchronization

/// The file of a download that a later load continues.
///
/// The bytes go straight into a hidden file beside the target, and a record beside that says what they are a part of. Both are
/// kept unless the load succeeds. Only this type makes and removes them, and one load at a time has them.
final class PartialFile: LoadFile {
    /// How many bytes are written to the disk at a time, and how many may wait for that.
    private static let (syncBytes, unsyncedLimit): (Int64, Int64) = (16 << 20, 64 << 20)

    private struct State {
        /// `nil` before it is opened, and once it is closed.
        var file: LockedFile?
        /// That of nothing if what there is is to be removed.
        var record = PartialRecord()
        /// Where the next bytes go, and where those of the response begin.
        var (offset, start): (Int64, Int64) = (0, 0)
        var isContinuing: Bool { start > 0 }
        /// Where the request goes that is sent now, if a redirect has led there.
        var source: String?
        /// Not while the body that arrives is stored in memory.
        var takesBody = false
        var isSyncing = false
        /// Whether the next request may have everything.
        var mustStartAgain = false
        /// After it, nothing is written: a gap would be taken for content.
        var failure: SystemError?
        /// Where the bytes of the response end; `nil` for one that is not a part.
        var end: Int64?
        /// Whether an early end of the response cannot be that of the connection.
        var isChunked = false

        mutating func startAgain(because reason: String) -> TransportError {
            (record, mustStartAgain) = (PartialRecord(), true)
            return TransportError(.badResponse, reason)
        }
    }

    let place: FilePlace
    let location: FileLocation
    let names: PartialNames
    private let key: String
    private let queue = DispatchQueue(label: "errand.file")
    private let holder = PartialNames.Holder()
    private let state = Lock(State())
    /// Whether the response, once there is one, can be continued.
    private let isResumable = Atomic(true)

    /// Makes nothing; the part is one of `resource` for the account of a jar.
    init(for destination: HTTPRequest.Destination, of resource: URL, _ cookies: CookieSession?) throws(TransportError) {
        place = try FilePlace(destination)
        key = PartialRecord.key(of: resource, for: cookies?.account ?? "")
        let stem = place.isInFolder ? PartialNames.hash(resource.absoluteString) : nil
        names = PartialNames(of: place, stem: stem)
        location = FileLocation(names.file, target: place.target)
    }

    /// That of the file, which a response of the rest need not repeat.
    var name: String? { state.withLock(\.record.name) }

    /// Returns the header lines that ask for the rest.
    ///
    /// A load of this process that is ending is waited for; throws if any other load has the file.
    func open() async throws(TransportError) -> HTTPHeaders {
        guard await names.enter(holder) else { throw names.inUse }
        do throws(TransportError) {
            try place.check()
            names.removeExpired()
            try reporting { () throws(SystemError) in
                let file = try LockedFile.open(names)
                let (record, offset) = PartialRecord.read(names, of: try file.descriptor.status(), for: key)
                try file.descriptor.truncate(to: offset)
                state.withLock { ($0.record, $0.offset, $0.start, $0.file) = (record, offset, offset, file) }
            }
        } catch {
            names.leave(holder)
            throw error
        }
        guard isEnding else { return state.withLock { $0.record.conditions(from: $0.offset) } }
        // Who has discarded it may have found nothing to close.
        discard(isRefused: false)
        throw .cancelledUnsent
    }

    private func reporting(_ body: () throws(SystemError) -> Void) throws(TransportError) {
        do throws(SystemError) {
            try body()
        } catch {
            // Some file systems have no `flock(2)`.
            let isInUse = error.call == "flock" && error.number == EWOULDBLOCK
            throw isInUse ? names.inUse : TransportError(cannotWrite: target, error)
        }
    }

    /// Whether the server has refused to continue it; a transport may have put the error into words of its own.
    var mustStartAgain: Bool { state.withLock(\.mustStartAgain) }

    /// Returns whether what ``open()`` has returned is to be sent: a validator is one of a URL (RFC 9110 section 8.8.1).
    ///
    /// `target` is where a redirect has led to; `nil` for the first request.
    func willSend(to target: URL?) -> Bool {
        let source = target.map(PartialRecord.source)
        return state.withLock { state in
            state.source = source
            return !state.isContinuing || state.record.source == source
        }
    }

    // MARK: The end

    /// Without the lock, because it is asked for on the main actor.
    var canContinue: Bool { isResumable.load(ordering: .relaxed) }

    /// Without the lock, which is held while the disk is written to.
    private var isEnding: Bool { holder.isLeaving }

    func willDiscard() { holder.willLeave() }

    /// Only the first call finds the file open.
    func discard(isRefused: Bool) {
        willDiscard()
        let (file, offset) = state.withLock { state in
            if isRefused { state.record = PartialRecord() }
            return (exchange(&state.file, with: nil), state.offset)
        }
        guard let file else { return }
        // Afterwards nothing writes the record: what begins later finds no file.
        queue.sync {}
        let isRemovedByApp = holder.decidesToRemove()
        if location.url != names.file {
            // It was moved, and another process may have a file of that name already.
            names.removeRecord()
        } else if isRemovedByApp || offset == 0 || !state.withLock(\.record.isResumable) {
            names.remove()
        }
        file.unlock()
        names.leave(holder)
    }

    /// Throws for a page in the place of the rest of a file that is none, such as that of a captive portal.
    func refusePage(_ headers: HTTPHeaders) throws(TransportError) {
        if headers.mediaType == "text/html", let type = state.withLock(\.record.mediaType), type != "text/html" {
            throw TransportError(.badResponse, "the server sent an HTML page in the place of the rest of the file")
        }
    }
}

extension PartialFile: HTTPBodyReceiver {
    var expectation: HTTPBodyExpectation { .large }

    func begin(status: Int, headers: HTTPHeaders) throws(TransportError) -> Bool {
        let isContinuing = state.withLock(\.isContinuing)
        switch status {
        // Others respond with it to a request for the whole.
        case 206 where headers.hasRangeOfWhole != true || isContinuing,
            // Some servers send a part with the status of the whole.
            200 where headers.hasRangeOfWhole == false && isContinuing:
            try continueBody(headers)
            return true
        case 416 where isContinuing:
            throw state.withLock { $0.startAgain(because: "the server has no rest of the file") }
        case 200...203, 206..<300:
            // It may say why the file is not continued.
            if isContinuing, headers.mayBeOfFailure { fallthrough }
            if isContinuing { try refusePage(headers) }
            try restart(as: PartialRecord(headers, key: key, source: state.withLock(\.source)))
            return true
        default:
            state.withLock { state in
                state.takesBody = false
                if [404, 410].contains(status) { state.record = PartialRecord() }
            }
            return false
        }
    }

    /// Nothing is spliced: the part begins where the file ends, and is one of the same representation.
    private func continueBody(_ headers: HTTPHeaders) throws(TransportError) {
        try state.withLock { state throws(TransportError) in
            // A transport may deliver it late, when another load has the record.
            guard state.file != nil else { throw TransportError(.cancelled, "the load has left the file") }
            guard state.isContinuing, state.record.source == state.source,
                let part = state.record.part(headers, from: state.offset)
            else {
                throw state.startAgain(because: "the server sent another part than was requested")
            }
            (state.record.length, state.end) = (part.length, part.end)
            state.isChunked = headers["Transfer-Encoding"] != nil
            state.takesBody = true
            // As one of this start of the machine, in which what follows is kept as well.
            try? state.record.write(names, synchronizes: false)
        }
    }

    private func restart(as record: PartialRecord) throws(TransportError) {
        isResumable.store(record.isResumable, ordering: .relaxed)
        try reporting { () throws(SystemError) in
            try state.withLock { state throws(SystemError) in
                let former = try file(in: state)
                // First, so that what follows is never taken for the rest of what was there.
                names.removeRecord()
                if state.offset > 0 {
                    unlink(names.file.path)
                    state.file = try .open(names)
                    // To free the blocks of a large file takes long.
                    queue.async { withExtendedLifetime(former) {} }
                }
                (state.record, state.offset, state.start, state.end) = (record, 0, 0, nil)
                state.takesBody = true
                // Before the bytes, which are of no use without.
                try record.write(names, synchronizes: false)
            }
        }
    }

    /// Throws once the load has left it: what a transport delivers afterwards may be of another version.
    private func file(in state: State) throws(SystemError) -> LockedFile {
        if let failure = state.failure { throw failure }
        guard let file = state.file, !isEnding else { throw SystemError(call: "write", number: ECANCELED) }
        return file
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(TransportError) {
        let mustSync = try state.withLock { state throws(TransportError) in
            guard state.offset + Int64(bytes.count) <= state.end ?? .max else {
                throw state.startAgain(because: "the response has more bytes than its Content-Range")
            }
            do throws(SystemError) {
                try file(in: state).descriptor.writeAll(bytes)
            } catch {
                state.failure = error
                throw TransportError(cannotWrite: target, error)
            }
            state.offset += Int64(bytes.count)
            return state.offset - state.record.synced >= Self.syncBytes
        }
        if mustSync { sync() }
    }

    func hasRoom(orCall ready: @escaping @Sendable () -> Void) -> Bool {
        let isFull = state.withLock { $0.isSyncing && $0.offset - $0.record.synced >= Self.unsyncedLimit }
        // When that is written which the queue writes now, also once the load has left the file.
        if isFull { queue.async(execute: ready) }
        return !isFull
    }

    func finish() throws(TransportError) {
        // Nothing is left to wait for when the load ends, which is on the main actor.
        queue.sync {}
        synchronize()
        let former = state.withLock(\.self)
        if let failure = former.failure { throw TransportError(cannotWrite: target, failure) }
        if let end = former.end, former.offset < end, former.isChunked {
            throw state.withLock { $0.startAgain(because: "the response has fewer bytes than its Content-Range") }
        }
        guard let length = former.record.length, former.offset != length else { return }
        throw TransportError(.connectionLost, "the response ended after \(former.offset) of \(length) bytes")
    }

    /// Returns a record of what is on the disk.
    ///
    /// The system reports a failure once, and what is missing then is not known.
    @discardableResult private func synchronize() -> PartialRecord? {
        var former = state.withLock(\.self)
        guard former.failure == nil, let file = former.file else { return nil }
        do throws(SystemError) {
            try file.descriptor.synchronize()
            former.record.synced = former.offset
            return former.record
        } catch {
            // At once, in case the process is killed.
            names.removeRecord()
            state.withLock { ($0.failure, $0.record) = (error, PartialRecord()) }
            return nil
        }
    }

    /// Writes what there is to the disk, and then the record, on another thread.
    private func sync() {
        guard !state.withLock({ exchange(&$0.isSyncing, with: true) }) else { return }
        queue.async { [self] in
            let record = synchronize()
            try? record?.write(names, synchronizes: true)
            state.withLock { ($0.isSyncing, $0.record.synced) = (false, record?.synced ?? $0.record.synced) }
        }
    }

    /// Counts from the beginning of the whole body; `nil` for what is not of the file.
    func progress(_ progress: TransferProgress) -> TransferProgress? {
        let (takesBody, start, length) = state.withLock { ($0.takesBody, $0.start, $0.record.length) }
        guard takesBody else { return nil }
        let total = length ?? progress.totalBytes.map { $0 + start }
        return TransferProgress(.download, completedBytes: progress.completedBytes + start, totalBytes: total)
    }
}
