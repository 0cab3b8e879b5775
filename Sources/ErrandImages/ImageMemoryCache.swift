public import Errand
import Foundation

/// Decoded images in memory, within a number of bytes; those that were used longest ago are removed first.
///
/// On Apple's platforms, it is emptied when the system warns of low memory; untested.
@MainActor public final class ImageMemoryCache<Image: Sendable> {
    private struct Entry {
        let image: Image
        let bytes: Int
        var lastUse: Int
    }

    /// The largest number of bytes; a larger image is not kept.
    ///
    /// When it is exceeded, images are removed down to three fifths of it, but not the newest.
    public let capacity: Int
    /// The number of bytes that the images take.
    public private(set) var bytes = 0
    private var entries: [ImageKey: Entry] = [:]
    private var uses = 0
    #if canImport(Darwin)
    private let memoryPressure = DispatchSource.makeMemoryPressureSource(
        eventMask: [.warning, .critical],
        queue: .main
    )
    #endif

    init(capacity: Int) {
        self.capacity = capacity
        #if canImport(Darwin)
        memoryPressure.setEventHandler { [weak self] in
            MainActor.assumeIsolated { self?.removeAll() }
        }
        memoryPressure.activate()
        #endif
    }

    /// The number of images.
    public var count: Int { entries.count }

    /// Removes all images.
    public func removeAll() { (entries, bytes) = ([:], 0) }

    subscript(key: ImageKey) -> Image? {
        guard let index = entries.index(forKey: key) else { return nil }
        uses += 1
        entries.values[index].lastUse = uses
        return entries.values[index].image
    }

    func insert(_ image: Image, bytes: Int, for key: ImageKey) {
        remove(key)
        guard bytes <= capacity else { return }
        uses += 1
        entries[key] = Entry(image: image, bytes: bytes, lastUse: uses)
        self.bytes += bytes
        guard self.bytes > capacity else { return }
        // The newest one remains.
        for (key, _) in entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }).dropLast() {
            guard self.bytes > capacity / 5 * 3 else { return }
            remove(key)
        }
    }

    func remove(_ key: ImageKey) {
        if let former = entries.removeValue(forKey: key) { bytes -= former.bytes }
    }

    /// Removes an image for all targets.
    func removeAll(of source: ImageSource) {
        for key in entries.keys where key.url == source.url && key.headers == source.headers { remove(key) }
    }
}

extension ImageMemoryCache: RedactedDescription {
    /// The type.
    public nonisolated var description: String { "ImageMemoryCache<\(Image.self)>" }
}
