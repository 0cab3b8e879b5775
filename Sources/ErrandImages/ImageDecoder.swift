import Errand
import Foundation

/// Makes the images of a loader from bytes, off the main actor.
public struct ImageDecoder<Image: Sendable>: Sendable {
    private let decode: @Sendable (ImageContent, ImageTarget) throws -> Image
    let bytes: @Sendable (Image) -> Int
    private var processings: [String: @Sendable (Image) throws -> Image] = [:]

    /// Creates a decoder.
    ///
    /// - Parameters:
    ///   - bytes: Returns the memory in bytes that an image takes, for the capacity of an ``ImageMemoryCache``.
    ///   - decode: Decodes an image for a target. Called off the main actor, not for a load that was cancelled before. An error
    ///     other than an `APIError` becomes the underlying error of a `decoding` failure.
    public init(
        bytes: @escaping @Sendable (Image) -> Int,
        decode: @escaping @Sendable (ImageContent, ImageTarget) throws -> Image
    ) {
        (self.bytes, self.decode) = (bytes, decode)
    }

    /// Returns a decoder that also processes images, for example to give them round corners.
    ///
    /// - Parameters:
    ///   - name: The name, for ``ImageTarget/processing``.
    ///   - process: Called off the main actor with the decoded image.
    /// - Returns: The decoder.
    public func processing(_ name: String, by process: @escaping @Sendable (Image) throws -> Image) -> Self {
        var decoder = self
        decoder.processings[name] = process
        return decoder
    }

    /// Throws if there is no processing of the target's name.
    func check(_ target: ImageTarget) throws(APIError) {
        guard let name = target.processing, processings[name] == nil else { return }
        throw APIError(.invalidRequest, reason: "the decoder has no processing named \"\(name)\"")
    }

    /// Calls `isDamaged` when the content cannot be decoded, which says nothing about a processing that throws.
    @concurrent func image(
        of content: ImageContent,
        for target: ImageTarget,
        isDamaged: (@Sendable () -> Void)?
    ) async throws(APIError) -> Image {
        guard !Task.isCancelled else { throw APIError(.cancelled) }
        let image: Image
        do {
            image = try decode(content, target)
        } catch {
            let failure = Self.failure(error, "the image could not be decoded")
            if failure.type == .decoding { isDamaged?() }
            throw failure
        }
        guard let name = target.processing, let process = processings[name] else { return image }
        do {
            return try process(image)
        } catch {
            throw Self.failure(error, "the image could not be processed")
        }
    }

    private static func failure(_ error: any Error, _ reason: String) -> APIError {
        error as? APIError ?? APIError(.decoding, reason: reason, underlying: error)
    }
}
