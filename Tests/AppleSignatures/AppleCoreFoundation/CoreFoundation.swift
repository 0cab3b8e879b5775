// The types of Core Foundation are those of Foundation, to which they are bridged; on Apple's platforms they are types of
// their own, which `as` converts.
public import Foundation

public typealias CFString = NSString
public typealias CFData = NSData
public typealias CFArray = NSArray
public typealias CFDictionary = NSDictionary
public typealias CFNumber = NSNumber
public typealias CFBoolean = NSNumber
public typealias CFTypeRef = AnyObject
public typealias CFIndex = Int
public typealias CFOptionFlags = UInt
public typealias CFTimeInterval = Double
public typealias CFTypeID = UInt

public class CFAllocator {}

public final class CFError: Error, @unchecked Sendable {}

nonisolated(unsafe) public let kCFBooleanTrue: CFBoolean! = true
nonisolated(unsafe) public let kCFBooleanFalse: CFBoolean! = false

public func CFEqual(_ cf1: CFTypeRef!, _ cf2: CFTypeRef!) -> Bool { fatalError() }
public func CFGetTypeID(_ cf: CFTypeRef!) -> CFTypeID { fatalError() }
