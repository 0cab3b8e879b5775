@_exported public import CoreGraphics
public import Foundation

open class CALayer: NSObject {
    open var contents: Any?
    open var bounds: CGRect = .zero
    open var isHidden: Bool = false
    open func add(_ anim: CAAnimation, forKey key: String?) {}
    open func removeAnimation(forKey key: String) {}
    open func removeAllAnimations() {}
}

public protocol CAMediaTiming {
    var beginTime: Double { get set }
    var duration: Double { get set }
    var speed: Float { get set }
}

open class CAAnimation: NSObject, CAMediaTiming {
    open var beginTime: Double = 0
    open var duration: Double = 0
    open var speed: Float = 0
}

public struct CATransitionType: Hashable, RawRepresentable, Sendable {
    public var rawValue: String
    public init(rawValue: String) { fatalError() }
    public static let fade = CATransitionType(rawValue: "")
    public static let push = CATransitionType(rawValue: "")
}

open class CATransition: CAAnimation {
    open var type: CATransitionType = .fade
}

public let kCATransition: String = ""
