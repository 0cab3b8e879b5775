public import Errand
public import Foundation

/// Which image to load, and for what it is used.
///
/// Two requests of the same URL, headers and cache policy share one load. Each ``target`` is decoded and kept by itself.
public struct ImageRequest: Sendable {
    /// The URL, or a path below the base URL of the loader's service.
    ///
    /// A URL without a scheme, such as `//host/path`, has that of the service; with another one than `http` and `https`, such as
    /// `data`, the image fails with `invalidRequest`.
    public var url: URL
    /// The size in pixels that the image is decoded for, and its processing; the whole image by default.
    public var target: ImageTarget
    /// Headers that replace those of the service with the same name; none by default.
    public var headers: HTTPHeaders
    /// Which stored responses are used; `nil`, the default, is the policy of the loader's options.
    ///
    /// What is in memory is used whatever its age and the policy, but with `CachePolicy.reload`, which replaces it.
    /// `CachePolicy.first` is the same as `fallback`.
    public var cachePolicy: CachePolicy?

    /// Creates a request; an argument that is not given has its default.
    public init(
        _ url: URL,
        target: ImageTarget = .whole,
        headers: HTTPHeaders = [:],
        cachePolicy: CachePolicy? = nil
    ) {
        (self.url, self.target, self.headers, self.cachePolicy) = (url, target, headers, cachePolicy)
    }
}

extension ImageRequest {
    func checkScheme() throws(APIError) {
        guard let scheme = url.scheme?.lowercased(), scheme != "http", scheme != "https" else { return }
        throw APIError(.invalidRequest, reason: "the URL of an image is neither http nor https")
    }
}

extension ImageRequest: Hashable {
    /// Whether both load the same, for the same target.
    public static func == (lhs: ImageRequest, rhs: ImageRequest) -> Bool {
        lhs.target == rhs.target && ImageSource(lhs) == ImageSource(rhs)
    }

    /// Hashes what ``==(_:_:)`` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(target)
        hasher.combine(ImageSource(self))
    }
}

extension ImageRequest: RedactedDescription {
    /// The URL without user, password, fragment and the values of its query.
    public var description: String { "ImageRequest(\(Redactor.shared.url(url.absoluteString)))" }
}

/// What is loaded once.
struct ImageSource: Hashable {
    let url: String
    let headers: [String]
    let cachePolicy: CachePolicy?
    /// Waits for nothing that may wait for the relogin.
    let isInRelogin: Bool

    init(_ request: ImageRequest, isInRelogin: Bool = false) {
        // A fragment is a part of the image, which is not sent (RFC 9110 section 4.2.5).
        url = String(request.url.absoluteString.prefix { $0 != "#" })
        (cachePolicy, self.isInRelogin) = (request.cachePolicy, isInRelogin)
        headers = request.headers.map { "\($0.name.lowercased()):\($0.value)" }
    }
}

extension ImageSource {
    func hasSameImage(as other: ImageSource) -> Bool { url == other.url && headers == other.headers }
}

/// What is kept once.
struct ImageKey: Hashable {
    let url: String
    let headers: [String]
    let target: ImageTarget

    init(_ source: ImageSource, _ target: ImageTarget) {
        (url, headers, self.target) = (source.url, source.headers, target)
    }
}

/// What an image is decoded for.
public struct ImageTarget: Sendable, Hashable {
    /// How an image and a size of another aspect ratio go together.
    public enum Mode: Sendable, Hashable {
        /// The image covers the size; what is beyond it is for the view to clip.
        case fill
        /// The whole image is within the size.
        case fit
    }

    /// The image with all its pixels, unprocessed.
    public static let whole = ImageTarget()

    /// In pixels, not points; `nil` for no limit.
    ///
    /// With neither width nor height, the image has all its pixels.
    public var width: Int?
    /// In pixels, not points; `nil` for no limit.
    public var height: Int?
    /// How the image and the size go together; `fill` by default.
    public var mode: Mode
    /// The name of a processing of the loader's decoder; see ``ImageDecoder/processing(_:by:)``.
    public var processing: String?

    /// Creates a target; an argument that is not given has its default.
    public init(width: Int? = nil, height: Int? = nil, mode: Mode = .fill, processing: String? = nil) {
        (self.width, self.height, self.mode, self.processing) = (width, height, mode, processing)
    }

    /// Returns the longer side, in pixels, of the image for this target, which is never enlarged.
    public func longestSide(of header: ImageHeader) -> Int {
        let (width, height) = (Double(header.displayWidth), Double(header.displayHeight))
        let scales = [self.width.map { Double($0) / width }, self.height.map { Double($0) / height }].compactMap(\.self)
        let scale = (mode == .fill ? scales.max() : scales.min()) ?? 1
        return max(1, Int((max(width, height) * min(1, max(0, scale))).rounded(.up)))
    }
}
