@_exported public import AppleFoundation
public import Foundation
@_exported public import QuartzCore

@MainActor open class NSResponder: NSObject {
    public override init() { fatalError() }
}

@MainActor open class NSWindow: NSResponder {
    open var backingScaleFactor: CGFloat { fatalError() }
}

@MainActor open class NSView: NSResponder {
    public init(frame frameRect: NSRect) { fatalError() }
    public required init?(coder: NSCoder) { fatalError() }
    open var window: NSWindow? { fatalError() }
    open var superview: NSView? { fatalError() }
    open var bounds: NSRect = .zero
    open var isHidden: Bool = false
    open var wantsLayer: Bool = false
    open var layer: CALayer?
    open func addSubview(_ view: NSView) {}
}

@MainActor open class NSControl: NSView {}

@MainActor open class NSImageView: NSControl {
    open var image: NSImage?
}

// Without `Sendable`, which only newer SDKs have.
open class NSImage: NSObject {
    public init(size: NSSize) { fatalError() }
    public convenience init(cgImage: CGImage, size: NSSize) { fatalError() }
    open var size: NSSize = .zero
}

@MainActor open class NSScreen: NSObject {
    open class var main: NSScreen? { fatalError() }
    open var backingScaleFactor: CGFloat { fatalError() }
}
