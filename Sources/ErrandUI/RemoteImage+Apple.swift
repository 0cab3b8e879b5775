#if canImport(SwiftUI)
public import ErrandImages
public import SwiftUI

/// A view that shows an image of a loader: `AsyncImage` with the login, the cache and the retries of a proxy.
///
/// Untested.
///
/// ```swift
/// RemoteImage(ImageRequest(goods.picture), from: images) { phase in
///     if let image = phase.image { image.resizable().scaledToFit() } else { ProgressView() }
/// }
/// ```
///
/// The image is loaded when the view appears and when the request changes, and the load is cancelled when the view disappears.
/// An image in memory is shown at once. A view that appears again keeps its image until it has another one.
///
/// Without a target, the whole image is decoded, however small the view is. Use one size in pixels for all views that share an
/// image and for its prefetch, because each target is decoded and kept by itself.
public struct RemoteImage<Content: View>: View {
    private let request: ImageRequest?
    private let loader: ImageLoader<SystemImage>
    private let animation: Animation?
    private let content: (AsyncImagePhase) -> Content
    @State private var slot = ImageSlot<SystemImage>()
    @State private var shown: (request: ImageRequest?, content: ImageSlotContent<SystemImage>) = (nil, .placeholder)
    @Environment(\.displayScale) private var scale

    /// Creates a view.
    ///
    /// - Parameters:
    ///   - request: The image; `nil` for none.
    ///   - loader: Loads it; another one is used from the next load on.
    ///   - animation: Of the change to an image that was loaded; `default` by default, `nil` for none.
    ///   - content: The content of the view. `empty` is for a placeholder, also after a load that was cancelled elsewhere, for
    ///     example by a logout; `failure` has an `APIError`. The size of the image in points is that of its pixels on
    ///     the display; for accessibility, the image is decorative.
    public init(
        _ request: ImageRequest?,
        from loader: ImageLoader<SystemImage>,
        animation: Animation? = .default,
        @ViewBuilder content: @escaping (AsyncImagePhase) -> Content
    ) {
        (self.request, self.loader, self.animation, self.content) = (request, loader, animation, content)
    }

    /// The content for the phase of the load.
    public var body: some View {
        // The content may be no view, or several: the stack appears and disappears once.
        ZStack { content(phase) }
            .onAppear { show(request) }
            .onChange(of: request) { show($1) }
            .onDisappear { slot.cancel() }
    }

    private var phase: AsyncImagePhase {
        switch shown.content {
        // Until the change of the request is observed, what is shown is that of the former one.
        case _ where shown.request != request, .placeholder: .empty
        case .image(let image, _): .success(Image(decorative: image.cgImage, scale: scale))
        case .failure(let error): .failure(error)
        }
    }

    private func show(_ request: ImageRequest?) {
        // Not the view, which retains the slot.
        slot.show(request, from: loader) { [shown = $shown, animation] content in
            // What appears again keeps its image until there is another one.
            if case .image = shown.wrappedValue.content, shown.wrappedValue.request == request {
                guard case .image = content else { return }
            }
            let isLoaded = if case .image(_, isFromMemory: false) = content { true } else { false }
            withAnimation(isLoaded ? animation : nil) { shown.wrappedValue = (request, content) }
        }
    }
}
#endif
