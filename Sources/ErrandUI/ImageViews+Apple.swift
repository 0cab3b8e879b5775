#if canImport(Darwin) && !os(watchOS)
public import Errand
public import ErrandImages
import QuartzCore
#if os(macOS)
public import AppKit
/// The superclass of an ``ImageLoadingView``.
public typealias PlatformView = NSView
/// The images of an ``ImageLoadingView``.
public typealias PlatformImage = NSImage
typealias PlatformImageView = NSImageView
#else
public import UIKit
/// The superclass of an ``ImageLoadingView``.
public typealias PlatformView = UIView
/// The images of an ``ImageLoadingView``.
public typealias PlatformImage = UIImage
typealias PlatformImageView = UIImageView
#endif

/// A view that shows images of a loader: an image view, a button, or a view of the app.
///
/// Untested.
@MainActor public protocol ImageLoadingView: PlatformView {
    /// Shows an image, or none; ``setImage(_:from:at:placeholder:failure:fade:completion:)`` calls this on the main actor.
    func showImage(_ image: PlatformImage?, at place: ImagePlace)
}

/// Where a view shows an image; a button has several places.
public struct ImagePlace: Hashable, Sendable {
    var isBackground = false
    var state: UInt = 0

    /// The only place of an image view, and the image of a button for its normal state.
    public static let image = ImagePlace()
}

extension ImageLoadingView {
    /// Shows an image when it is loaded, and until then a placeholder.
    ///
    /// ```swift
    /// cell.picture.setImage(ImageRequest(goods.picture, target: target), from: images, placeholder: icon)
    /// cell.buy.setImage(ImageRequest(goods.badge), from: images, at: .background(for: .normal))
    /// ```
    ///
    /// A former load for the place is cancelled, and its image is never shown; so call this for each use of a reused view. An
    /// image in memory is shown at once, without placeholder and fade. A request that is being loaded for the place is not loaded
    /// again. When the view is released, its loads are cancelled.
    ///
    /// Without a target, the whole image is decoded, however small the view is. Use one size in pixels for all views that share
    /// an image and for its prefetch, because each target is decoded and kept by itself.
    ///
    /// - Parameters:
    ///   - request: The image; `nil` for the placeholder.
    ///   - loader: Loads it.
    ///   - place: Where it is shown; ``ImagePlace/image`` by default.
    ///   - placeholder: Shown meanwhile, and after a load that was cancelled elsewhere, for example by a logout; no image by
    ///     default.
    ///   - failure: Shown after a failure; the placeholder by default.
    ///   - fade: How long an image that was loaded fades in; 0.25 seconds by default. On macOS, the view needs a layer.
    ///   - completion: Called after the image or the failure is shown, before this returns for an image in memory; not after a
    ///     cancel or for a former request. It must not retain the view.
    public func setImage(
        _ request: ImageRequest?,
        from loader: ImageLoader<SystemImage>,
        at place: ImagePlace = .image,
        placeholder: PlatformImage? = nil,
        failure: PlatformImage? = nil,
        fade: Duration = .milliseconds(250),
        completion: (@MainActor (Result<SystemImage, APIError>) -> Void)? = nil
    ) {
        ImageSlots.slot(of: self, at: place).show(request, from: loader) { [weak self] content in
            guard let self else { return }
            let layer: CALayer? = self.layer
            // A fade may still show the image of a former request.
            layer?.removeAnimation(forKey: kCATransition)
            switch content {
            case .placeholder: showImage(placeholder, at: place)
            case .image(let image, let isFromMemory):
                if !isFromMemory, fade > .zero {
                    let transition = CATransition()
                    transition.duration = fade / .seconds(1)
                    layer?.add(transition, forKey: kCATransition)
                }
                showImage(makeImage(image.cgImage), at: place)
                completion?(.success(image))
            case .failure(let error):
                if let failure { showImage(failure, at: place) }
                completion?(.failure(error))
            }
        }
    }

    /// Cancels the load for a place, which keeps its image.
    public func cancelImageLoad(at place: ImagePlace = .image) {
        ImageSlots.slot(of: self, at: place).cancel()
    }

    /// The size in points is that of the pixels on the display of the view.
    private func makeImage(_ image: CGImage) -> PlatformImage {
        #if os(macOS)
        let scale = window?.backingScaleFactor ?? NSScreen.main?.backingScaleFactor ?? 1
        let (width, height) = (CGFloat(image.width) / scale, CGFloat(image.height) / scale)
        return NSImage(cgImage: image, size: CGSize(width: width, height: height))
        #else
        return UIImage(cgImage: image, scale: max(1, traitCollection.displayScale), orientation: .up)
        #endif
    }
}

/// The slots of a view, which are released with it.
@MainActor private final class ImageSlots {
    private static var key: UInt8 = 0
    private var slots: [ImagePlace: ImageSlot<SystemImage>] = [:]

    static func slot(of view: PlatformView, at place: ImagePlace) -> ImageSlot<SystemImage> {
        let all = objc_getAssociatedObject(view, &key) as? ImageSlots ?? ImageSlots()
        objc_setAssociatedObject(view, &key, all, .OBJC_ASSOCIATION_RETAIN_NONATOMIC)
        let slot = all.slots[place] ?? ImageSlot()
        all.slots[place] = slot
        return slot
    }
}

extension PlatformImageView: ImageLoadingView {
    /// Sets `image`; the place does not matter.
    public func showImage(_ image: PlatformImage?, at place: ImagePlace) { self.image = image }
}

#if !os(macOS)
extension UIButton: ImageLoadingView {
    /// Sets the image or the background image for a state.
    public func showImage(_ image: UIImage?, at place: ImagePlace) {
        let state = UIControl.State(rawValue: place.state)
        if place.isBackground { setBackgroundImage(image, for: state) } else { setImage(image, for: state) }
    }
}

extension ImagePlace {
    /// The image of a button for a state.
    public static func image(for state: UIControl.State) -> Self { Self(state: state.rawValue) }
    /// The background image of a button for a state.
    public static func background(for state: UIControl.State) -> Self {
        Self(isBackground: true, state: state.rawValue)
    }
}
#endif
#endif
