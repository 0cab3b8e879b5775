import Foundation

/// What the bytes of a partial file are a part of, as JSON beside it.
///
/// It has no secret: of the URL there are the origin and a hash, and of the header lines the validator and the name of the file.
struct PartialRecord: Codable, Sendable {
    /// After a start of the machine, what was written last may be missing from the disk.
    private static let currentBoot = bootID()

    private var boot = currentBoot
    private var key = ""
    /// A strong `ETag`, or else the `Last-Modified`; `nil` for a body that cannot be continued.
    private var validator: String?
    /// The name of the file in the response to the first request; a response of the rest may be without.
    private(set) var name: String?
    /// Where a redirect has led to; `nil` for what the requested URL has sent.
    private(set) var source: String?
    private(set) var mediaType: String?
    /// Of the whole body.
    var length: Int64?
    /// The bytes that are on the disk.
    var synced: Int64 = 0

    var isResumable: Bool { validator != nil }

    /// That of nothing.
    init() {}

    /// That of a whole body.
    init(_ headers: HTTPHeaders, key: String, source: String?) {
        (self.key, self.source) = (key, source)
        name = headers["Content-Disposition"].flatMap(ContentDisposition.filename)
        mediaType = headers.mediaType
        // A part of a coded body is not one of the decoded body.
        guard !headers.hasContentCoding else { return }
        length = try? BodyFraming(headers).contentLength()
        if headers["Accept-Ranges"]?.lowercased() != "none" { validator = headers.strongValidator }
    }

    /// Returns the record of a file, and the number of bytes that are there; 0 where they are of no use.
    static func read(
        _ names: PartialNames,
        of status: stat,
        for key: String?
    ) -> (PartialRecord, offset: Int64) {
        let size = Int64(status.st_size)
        // What another user has planted is no part.
        guard status.isOwnerTrusted,
            let file = try? FileDescriptor(opening: names.record, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let own = try? file.status(), own.isFile, own.isOwnerTrusted, let bytes = try? file.readAll(atMost: 65_536),
            var record = try? JSONDecoder().decode(PartialRecord.self, from: Data(bytes)),
            key == nil || record.key == key, record.isResumable, size <= record.length ?? .max,
            (0...size).contains(record.synced)
        else { return (PartialRecord(), 0) }
        // At least one byte is requested, so that the server compares its validator with this one.
        let longest = max(0, (record.length ?? .max) - 1)
        record.synced = min(record.synced, longest)
        return (record, min(longest, record.boot == currentBoot ? size : record.synced))
    }

    /// Does nothing for a body that cannot be continued; without `synchronizes`, nothing waits for the disk.
    func write(_ names: PartialNames, synchronizes: Bool) throws(SystemError) {
        var record = self
        record.boot = Self.currentBoot
        guard isResumable, let bytes = try? JSONEncoder().encode(record) else { return }
        let (temporary, folder) = (names.record + "-tmp", synchronizes ? names.folder : nil)
        // A killed process may have left it, and no other one writes it.
        unlink(temporary)
        try AtomicFile.replace(names.record, with: Array(bytes), temporary: temporary, folder: folder)
    }

    /// A range is one of the bytes as they are, without a content coding (RFC 9110 sections 13.1.5 and 14.2).
    func conditions(from offset: Int64) -> HTTPHeaders {
        let validator = offset > 0 ? validator : nil
        let range = validator.map { _ in "bytes=\(offset)-" }
        return ["Accept-Encoding": "identity", "Range": range, "If-Range": validator]
    }

    /// Returns the length of the whole body, and where the part ends, if a 206 continues this body at `offset` (RFC 9110 sections
    /// 14.4 and 15.3.7).
    func part(_ headers: HTTPHeaders, from offset: Int64) -> (length: Int64, end: Int64)? {
        // A total that is unknown is that of the whole response.
        let text = headers["Content-Range"]?.replacing("/*", with: "/\(length.map(String.init) ?? "*")")
        guard !headers.hasContentCoding, let range = text.flatMap(StoredRange.init(contentRange:)),
            range.first == offset, length == nil || length == range.length, let validator
        else { return nil }
        // Whichever of both is wrong, the bytes are not known to be those.
        if let count = try? BodyFraming(headers).contentLength(), count != range.last - range.first + 1 { return nil }
        // A date alone need not be repeated (RFC 9110 section 15.3.7), and a server that ignores If-Range repeats no tag.
        let (tag, date) = (headers["ETag"], headers["Last-Modified"] ?? validator)
        let isSame = validator.hasPrefix("\"") ? tag == validator : tag == nil && date == validator
        return isSame ? (range.length, range.last + 1) : nil
    }

    /// Of the whole URL, because a query may name what is requested; with the origin as it is, because another server may choose a
    /// URL with the same hash.
    static func key(of url: URL, for account: String) -> String {
        "\(url.originText) \(PartialNames.hash("\(account) \(url.absoluteString)"))"
    }

    /// Without the query, which may be a signature that each redirect makes anew.
    static func source(of target: URL) -> String {
        "\(target.originText) \(PartialNames.hash(target.path(percentEncoded: true)))"
    }

    private static func bootID() -> String {
        #if canImport(Darwin)
        // Untested.
        var (bytes, size) = ([CChar](repeating: 0, count: 64), 64)
        guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else { return String.uniqueName }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        #else
        let path = "/proc/sys/kernel/random/boot_id"
        let bytes = try? FileDescriptor(opening: path, O_RDONLY).readAll(atMost: 64)
        // Where it is not known, each process trusts what is on the disk alone.
        return bytes.map { String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .newlines) } ?? String.uniqueName
        #endif
    }
}

extension HTTPHeaders {
    fileprivate var hasContentCoding: Bool { BodyFraming(self).hasContentCoding }

    /// A date is strong if the file was not changed in the second in which it was sent (RFC 9110 section 8.8.2.2).
    ///
    /// Other bytes than printable ones cannot be sent back as they were received.
    fileprivate var strongValidator: String? {
        guard let text = self["ETag"] ?? self["Last-Modified"], text.isPrintableASCII else { return nil }
        if self["ETag"] != nil { return text.hasPrefix("\"") && text.hasSuffix("\"") && text.count > 1 ? text : nil }
        guard let modified = CookieDate.parse(text.utf8),
            let sent = self["Date"].flatMap({ CookieDate.parse($0.utf8) }), sent.timeIntervalSince(modified) >= 1
        else { return nil }
        return text
    }
}
