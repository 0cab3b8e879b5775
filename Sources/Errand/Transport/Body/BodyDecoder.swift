#if os(Linux)
import CurlRuntime
import Foundation

extension ContentCoding {
    /// The codings whose library is available, as a value of `Accept-Encoding`; empty without any.
    static let accepted = allCases.filter(\.isAvailable).map(\.rawValue).joined(separator: ", ")

    /// The library for the coding may be in the process, or is loaded.
    var isAvailable: Bool { curlrt_coding_available(runtime) }
}

/// How much may be decoded in one turn of the loop.
struct DecodingBudget {
    /// Bytes that a common machine decodes in about a millisecond.
    private static let bytesPerTurn = 1 << 20
    /// So that decoding empty streams is limited as well.
    private static let bytesPerStep = 512

    private var remainingBytes = bytesPerTurn

    var isSpent: Bool { remainingBytes <= 0 }

    fileprivate mutating func spend(bytes: Int) {
        remainingBytes -= bytes + Self.bytesPerStep
    }
}

/// Decodes the codings of one body, part by part; used by one thread at a time.
final class BodyDecoder {
    private let layers: [CodingLayer]

    /// The outermost coding is the first one.
    ///
    /// The result of the outer codings may be larger than `limit`, by as much as a coding adds to a body that it cannot compress.
    init(_ codings: [ContentCoding], limit: Int?) throws(TransportError) {
        layers = try codings.enumerated().map { index, coding throws(TransportError) in
            let isInnermost = index == codings.count - 1
            return try CodingLayer(coding, limit: isInnermost ? limit : limit.flatMap(Self.codedLimit))
        }
    }

    private static func codedLimit(_ limit: Int) -> Int? {
        let (sum, isOverflow) = limit.addingReportingOverflow(limit / 8 + 65_536)
        return isOverflow ? nil : sum
    }

    /// Whether bytes that were passed before are not all decoded.
    var isBusy: Bool { layers.contains(where: \.isBusy) }

    /// Decodes until `input` is empty, `budget` is spent or `receive` returns that it has no room for more, and removes the read
    /// bytes from `input`.
    ///
    /// Returns whether everything is decoded; if not, a later call with the rest of `input` continues.
    func decode(
        _ input: inout UnsafeRawBufferPointer,
        within budget: inout DecodingBudget,
        receive: (UnsafeRawBufferPointer) throws(TransportError) -> Bool
    ) throws(TransportError) -> Bool {
        layers[0].input = input
        defer { input = exchange(&layers[0].input, with: UnsafeRawBufferPointer(start: nil, count: 0)) }
        // The innermost layer decodes first, so that each layer needs only one buffer.
        while let index = layers.lastIndex(where: \.isBusy) {
            guard !budget.isSpent else { return false }
            let part = try layers[index].decode(within: &budget)
            if index < layers.count - 1 { layers[index + 1].input = part } else if try !receive(part) { return !isBusy }
        }
        return true
    }

    /// Throws when a coded stream is truncated; a stream without bytes is complete.
    func finish() throws(TransportError) {
        for layer in layers { try layer.finish() }
    }
}

/// One coding of a body.
///
/// Detects truncated streams, which libcurl's own decoding does not.
private final class CodingLayer {
    private static let capacity = 65_536
    /// The bytes that a stream may have without decoding to anything, and for each decoded byte.
    private static let freeBytes = 1 << 20
    private static let bytesPerDecodedByte = 64

    /// The memory must stay valid until the bytes have been read.
    var input = UnsafeRawBufferPointer(start: nil, count: 0)
    private let coding: ContentCoding
    private let limit: Int?
    private let decoder: OpaquePointer
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 1)
    private var step: curlrt_decode_result?
    private var hasMoreOutput = false
    /// Whether only NUL bytes may follow, which some servers add to fill a block.
    private var isPadding = false
    private var readBytes = 0
    private var decodedBytes = 0

    init(_ coding: ContentCoding, limit: Int?) throws(TransportError) {
        guard let decoder = curlrt_decoder_make(coding.runtime) else {
            throw TransportError(.badResponse, "there is no memory to decode the body")
        }
        (self.coding, self.limit, self.decoder) = (coding, limit, decoder)
    }

    deinit {
        curlrt_decoder_free(decoder)
        output.deallocate()
    }

    var isBusy: Bool { !input.isEmpty || hasMoreOutput }

    /// The result is valid until the next call.
    func decode(within budget: inout DecodingBudget) throws(TransportError) -> UnsafeRawBufferPointer {
        guard step != curlrt_decode_ended || coding.allowsMembers else { throw failure("has bytes after its end") }
        if step == curlrt_decode_ended, coding == .gzip, isPadding || input.first == 0 {
            return try skipPadding(within: &budget)
        }
        let inputCount = input.count
        let (step, count) = takeStep()
        guard step != curlrt_decode_failed else { throw failure("is corrupt") }
        self.step = step
        hasMoreOutput = step == curlrt_decode_more && count == output.count
        readBytes += inputCount - input.count
        decodedBytes += count
        budget.spend(bytes: inputCount - input.count + count)
        try checkAmounts()
        return UnsafeRawBufferPointer(rebasing: output[..<count])
    }

    /// Decodes until `input` or `output` is used up; returns the number of decoded bytes.
    private func takeStep() -> (curlrt_decode_result, Int) {
        var next = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var (count, room) = (input.count, output.count)
        let target = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let step = curlrt_decode(decoder, &next, &count, target, &room)
        input = UnsafeRawBufferPointer(start: next, count: count)
        return (step, output.count - room)
    }

    /// As gzip and browsers do after the last member.
    private func skipPadding(within budget: inout DecodingBudget) throws(TransportError) -> UnsafeRawBufferPointer {
        isPadding = true
        guard input.allSatisfy({ $0 == 0 }) else { throw failure("has bytes after its end") }
        readBytes += input.count
        budget.spend(bytes: input.count)
        input = UnsafeRawBufferPointer(start: nil, count: 0)
        try checkAmounts()
        return input
    }

    private func checkAmounts() throws(TransportError) {
        if let limit, decodedBytes > limit {
            throw TransportError(.responseTooLarge, "the \(coding.rawValue) body decodes to more than \(limit) bytes")
        }
        // Empty streams could follow each other forever without reaching a limit.
        guard (readBytes - Self.freeBytes) / Self.bytesPerDecodedByte <= decodedBytes else {
            throw failure("decodes to next to nothing")
        }
    }

    func finish() throws(TransportError) {
        guard step != curlrt_decode_more, !isBusy else {
            throw TransportError(.connectionLost, "the \(coding.rawValue) body is truncated")
        }
    }

    private func failure(_ what: String) -> TransportError {
        TransportError(.badResponse, "the \(coding.rawValue) body \(what)")
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
