public import CoreGraphics
public import Foundation

// Without `Sendable`, which only newer SDKs have.
open class UIImage: NSObject {
    public enum Orientation: Int, Sendable {
        case up = 0, down = 1, left = 2, right = 3, upMirrored = 4, downMirrored = 5, leftMirrored = 6, rightMirrored =
            7
    }

    public init?(named name: String) { fatalError() }
    public init?(systemName name: String) { fatalError() }
    public init?(data: Data) { fatalError() }
    public init(cgImage: CGImage) { fatalError() }
    public init(cgImage: CGImage, scale: CGFloat, orientation: UIImage.Orientation) { fatalError() }
    open var cgImage: CGImage? { fatalError() }
    open var size: CGSize { fatalError() }
    open var scale: CGFloat { fatalError() }
}
