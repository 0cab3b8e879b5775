@_exported import class Dispatch.DispatchGroup
@_exported import enum Dispatch.DispatchPredicate
@_exported import struct Dispatch.DispatchQoS
@_exported import class Dispatch.DispatchQueue
@_exported import class Dispatch.DispatchSemaphore
@_exported import class Dispatch.DispatchSource
@_exported import protocol Dispatch.DispatchSourceProtocol
@_exported import protocol Dispatch.DispatchSourceTimer
@_exported import struct Dispatch.DispatchTime
@_exported import enum Dispatch.DispatchTimeInterval
@_exported import enum Dispatch.DispatchTimeoutResult
@_exported import struct Dispatch.DispatchWallTime
@_exported import class Dispatch.DispatchWorkItem
@_exported import func Dispatch.dispatchPrecondition

extension DispatchSource {
    public struct MemoryPressureEvent: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { fatalError() }
        public static var normal: MemoryPressureEvent { fatalError() }
        public static var warning: MemoryPressureEvent { fatalError() }
        public static var critical: MemoryPressureEvent { fatalError() }
    }

    public class func makeMemoryPressureSource(
        eventMask: DispatchSource.MemoryPressureEvent,
        queue: DispatchQueue? = nil
    ) -> any DispatchSourceMemoryPressure { fatalError() }
}

public protocol DispatchSourceMemoryPressure: DispatchSourceProtocol {
    var data: DispatchSource.MemoryPressureEvent { get }
    var mask: DispatchSource.MemoryPressureEvent { get }
}
