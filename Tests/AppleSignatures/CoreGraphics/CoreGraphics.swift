// A class of Core Foundation, without `Sendable`.
public class CGImage {}

extension CGImage {
    public var width: Int { fatalError() }
    public var height: Int { fatalError() }
    public var bitsPerComponent: Int { fatalError() }
    public var bitsPerPixel: Int { fatalError() }
    public var bytesPerRow: Int { fatalError() }
}
