#if os(Linux)
import Foundation

extension ContentCoding {
    /// The codings whose library is in the process, as a value of `Accept-Encoding`; empty for none.
    static let accepted = allCases.filter(CurlDecoder.isAvailable).map(\.rawValue).joined(separator: ", ")
}

/// How much may be decoded before others have their turn.
struct DecodingBudget {
    /// A millisecond or so on a common machine.
    private static let turn = 1 << 20
    /// What a step costs however few bytes it moves, so that empty streams are not free.
    private static let step = 512

    private var rest = turn

    /// Whether nothing more may be decoded now.
    var isSpent: Bool { rest <= 0 }

    /// Pays for a step that has moved so many bytes.
    fileprivate mutating func pay(_ bytes: Int) {
        rest -= bytes + Self.step
    }
}

/// Undoes the codings of one body, part by part; used by one thread at a time.
final class BodyDecoder {
    private let layers: [CodingLayer]

    /// Makes ready for a body in `codings`, the outermost first.
    ///
    /// - Parameters:
    ///   - codings: One at least.
    ///   - limit: The most bytes that the body may decode to; `nil` for any number. What the outer codings decode to may be
    ///     larger by what coding adds to a body that it cannot make smaller.
    /// - Throws: ``TransportError/Kind/badResponse`` when there is no memory.
    init(_ codings: [ContentCoding], limit: Int?) throws(TransportError) {
        var layers: [CodingLayer] = []
        for (index, coding) in codings.enumerated() {
            let isInnermost = index == codings.count - 1
            layers.append(try CodingLayer(coding, limit: isInnermost ? limit : limit.flatMap(Self.codedLimit)))
        }
        self.layers = layers
    }

    private static func codedLimit(_ limit: Int) -> Int? {
        let (sum, isOverflow) = limit.addingReportingOverflow(limit / 8 + 65_536)
        return isOverflow ? nil : sum
    }

    /// Whether there is something to decode in what has been taken already.
    var isBusy: Bool { layers.contains(where: \.isBusy) }

    /// Decodes until `input` is used up or `budget` is spent, takes what was read off `input` and passes on what it
    /// decodes to.
    ///
    /// - Returns: Whether everything is decoded; if not, a later call goes on, with the rest of `input`.
    /// - Throws: ``TransportError/Kind/badResponse``, ``TransportError/Kind/responseTooLarge``, or what `receive` throws.
    func decode(
        _ input: inout UnsafeRawBufferPointer,
        _ budget: inout DecodingBudget,
        _ receive: (UnsafeRawBufferPointer) throws(TransportError) -> Void
    ) throws(TransportError) -> Bool {
        layers[0].input = input
        defer { input = layers[0].removeInput() }
        // The innermost layer goes first, so that each holds one buffer at most.
        while let index = layers.lastIndex(where: \.isBusy) {
            guard !budget.isSpent else { return false }
            let part = try layers[index].decode(&budget)
            if index == layers.count - 1 { try receive(part) } else { layers[index + 1].input = part }
        }
        return true
    }

    /// Checks that every coded stream has come to its end; one without any byte has.
    ///
    /// - Throws: ``TransportError/Kind/connectionLost`` when one was cut.
    func finish() throws(TransportError) {
        for layer in layers { try layer.finish() }
    }
}

/// One coding of a body.
///
/// It notices a stream that was cut, which libcurl takes for a whole one.
private final class CodingLayer {
    private static let capacity = 65_536
    /// The bytes that a stream may have before it has to decode to something, and for each byte that it decodes to.
    private static let freeBytes = 1 << 20
    private static let bytesPerDecodedByte = 64

    /// What is still to be decoded; whoever sets it keeps the memory until it has been read.
    var input = UnsafeRawBufferPointer(start: nil, count: 0)
    private let coding: ContentCoding
    private let limit: Int?
    private let decoder: CurlDecoder
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 1)
    private var step: CurlDecoder.Step?
    private var hasMoreOutput = false
    private var readBytes = 0
    private var decodedBytes = 0

    init(_ coding: ContentCoding, limit: Int?) throws(TransportError) {
        guard let decoder = CurlDecoder(coding) else {
            throw TransportError(.badResponse, "there is no memory to decode the body")
        }
        (self.coding, self.limit, self.decoder) = (coding, limit, decoder)
    }

    deinit {
        decoder.free()
        output.deallocate()
    }

    var isBusy: Bool { !input.isEmpty || hasMoreOutput }

    func removeInput() -> UnsafeRawBufferPointer {
        defer { input = UnsafeRawBufferPointer(start: nil, count: 0) }
        return input
    }

    /// Decodes a part of the input, which is valid until the next call.
    func decode(_ budget: inout DecodingBudget) throws(TransportError) -> UnsafeRawBufferPointer {
        guard step != .ended || coding.allowsMembers else { throw failure("has bytes behind its end") }
        let inputCount = input.count
        let (step, count) = decoder.decode(&input, into: output)
        guard step != .failed else { throw failure("is corrupt") }
        self.step = step
        hasMoreOutput = step == .more && count == output.count
        readBytes += inputCount - input.count
        decodedBytes += count
        budget.pay(inputCount - input.count + count)
        try checkAmounts()
        return UnsafeRawBufferPointer(rebasing: output[..<count])
    }

    private func checkAmounts() throws(TransportError) {
        if let limit, decodedBytes > limit {
            throw TransportError(.responseTooLarge, "the \(coding.rawValue) body decodes to more than \(limit) bytes")
        }
        // Streams of no bytes could go on for ever without coming to a limit.
        guard (readBytes - Self.freeBytes) / Self.bytesPerDecodedByte <= decodedBytes else {
            throw failure("decodes to next to nothing")
        }
    }

    func finish() throws(TransportError) {
        guard step != .more, !isBusy else {
            throw TransportError(.connectionLost, "the \(coding.rawValue) body was cut")
        }
    }

    private func failure(_ what: String) -> TransportError {
        TransportError(.badResponse, "the \(coding.rawValue) body \(what)")
    }
}
#endif
