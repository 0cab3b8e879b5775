import Errand

/// A number of places, the images that have one, and those that wait for one.
@MainActor struct ImagePlaces<Image: Sendable> {
    let count: Int
    private var queue = ImageQueue<ImageFetch<Image>>()
    private var holders: [ObjectIdentifier: ImageFetch<Image>] = [:]
    /// Those that have given up their places until they are sent again.
    private var postponed: Set<ObjectIdentifier> = []

    init(_ count: Int) { self.count = count }

    /// Has an image wait; moves one that waits.
    mutating func insert(_ fetch: ImageFetch<Image>) {
        queue.insert(fetch, rank: fetch.rank, ticket: fetch.ticket)
    }

    var waitingCount: Int { queue.count }

    /// Gives the next image of at least this rank a place: prefetches at most half of them, but at least one.
    mutating func next(_ order: ImageOrder, from lowest: ImageRank = .prefetch) -> ImageFetch<Image>? {
        guard holders.count < count else { return nil }
        let mayPrefetch = holders.values.count { $0.rank == .prefetch } < max(1, count / 2)
        guard let fetch = queue.next(order, from: mayPrefetch ? lowest : max(lowest, .background)) else { return nil }
        holders[ObjectIdentifier(fetch)] = fetch
        return fetch
    }

    mutating func remove(_ fetch: ImageFetch<Image>) {
        queue.remove(fetch)
        holders[ObjectIdentifier(fetch)] = nil
        postponed.remove(ObjectIdentifier(fetch))
    }

    mutating func removeWaiting() { queue = ImageQueue() }

    /// Takes the place of an image that waits for a retry, unless as many as there are places wait already.
    mutating func postpone(_ fetch: ImageFetch<Image>) {
        guard postponed.count < count, holders.removeValue(forKey: ObjectIdentifier(fetch)) != nil else { return }
        postponed.insert(ObjectIdentifier(fetch))
    }

    /// Gives an image that goes on its place back, also beyond the number of them.
    mutating func resume(_ fetch: ImageFetch<Image>) {
        if postponed.remove(ObjectIdentifier(fetch)) != nil { holders[ObjectIdentifier(fetch)] = fetch }
    }
}

/// Where the load of an image that has found no stored response waits for a place to be sent.
@MainActor final class ImageGate: LoadGate {
    private enum State {
        case ahead, closed, open
    }

    private var state = State.ahead
    private var load: CheckedContinuation<Void, Never>?
    private let arrive: @MainActor () -> Bool

    /// `arrive` returns whether somebody is going to open the gate.
    init(arrive: @escaping @MainActor () -> Bool) { self.arrive = arrive }

    /// Whether the load waits here.
    var isClosed: Bool { state == .closed }

    func open() {
        state = .open
        exchange(&load, with: nil)?.resume()
    }

    func passAtOnce() -> Bool {
        if state == .ahead {
            state = .closed
            if !arrive() { open() }
        }
        return state == .open
    }

    func pass() async {
        await withCheckedContinuation { continuation in
            if state == .open { continuation.resume() } else { load = continuation }
        }
    }
}
