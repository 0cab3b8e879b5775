@_exported public import CoreGraphics
public import Foundation

public struct Image: View, Equatable, Sendable {
    public enum Orientation: UInt8, Sendable {
        case up, upMirrored, down, downMirrored, left, leftMirrored, right, rightMirrored
    }

    public enum ResizingMode: Sendable { case tile, stretch }

    public init(_ name: String, bundle: Bundle? = nil) { fatalError() }
    public init(systemName: String) { fatalError() }
    public init(
        _ cgImage: CGImage,
        scale: CGFloat,
        orientation: Image.Orientation = .up,
        label: Text
    ) { fatalError() }
    public init(decorative cgImage: CGImage, scale: CGFloat, orientation: Image.Orientation = .up) { fatalError() }
    public func resizable(
        capInsets: EdgeInsets = EdgeInsets(),
        resizingMode: Image.ResizingMode = .stretch
    ) -> Image { fatalError() }
    nonisolated public static func == (lhs: Image, rhs: Image) -> Bool { fatalError() }
    public var body: Never { fatalError() }
}

public struct EdgeInsets: Equatable, Sendable {
    public init() {}
}

// Without `Sendable`, which only newer SDKs have.
public enum AsyncImagePhase {
    case empty
    case success(Image)
    case failure(any Error)

    public var image: Image? { fatalError() }
    public var error: (any Error)? { fatalError() }
}

public struct Color: View, Hashable, Sendable {
    public static let gray = Color()
    public static let clear = Color()
    public var body: Never { fatalError() }
}

public struct ZStack<Content: View>: View {
    nonisolated public init(alignment: Alignment = .center, @ViewBuilder content: () -> Content) {}
    public var body: Never { fatalError() }
}

extension View {
    nonisolated public func scaledToFit() -> some View { EmptyView() }
    nonisolated public func scaledToFill() -> some View { EmptyView() }
    nonisolated public func clipped(antialiased: Bool = false) -> some View { EmptyView() }
    nonisolated public func frame(
        width: CGFloat? = nil,
        height: CGFloat? = nil,
        alignment: Alignment = .center
    ) -> some View { EmptyView() }
}
