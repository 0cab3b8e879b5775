@testable import Errand

extension QueuePlace {
    /// The place of a load that begins now.
    static func next(_ lane: QueueLane) -> QueuePlace {
        QueuePlace(number: RequestID.next().queueNumber, lane: lane)
    }
}
