import Foundation

extension CookieStore {
    /// A cookie and what the store remembers of it.
    struct Entry {
        private(set) var cookie: Cookie
        /// Tells apart cookies of one creation time.
        let order: UInt64
        var lastUse: UInt64
        /// The end that the file was last told of.
        private var toldExpiry: Date?

        init(_ cookie: Cookie, number: UInt64) {
            self.cookie = cookie
            order = number
            lastUse = number
            toldExpiry = cookie.expires
        }

        /// Puts `new` here, which inherits the creation time, and returns whether the file has to hear of it.
        mutating func replace(with new: Cookie, number: UInt64) -> Bool {
            let isNews = !cookie.hasSameContent(as: new) || moves(to: new)
            if isNews { toldExpiry = new.expires }
            let created = cookie.created
            cookie = new
            cookie.created = created
            lastUse = number
            return isNews
        }

        /// Whether the end of the cookie moves by more than a hundredth of its life.
        ///
        /// A server that sends its cookie with every answer moves the end by moments each time; writing each of them
        /// would wear the disk.
        private func moves(to new: Cookie) -> Bool {
            guard let told = toldExpiry, let expires = new.expires else { return new.expires != toldExpiry }
            let life = expires.timeIntervalSince(new.created)
            return !(0...max(0, life / 100)).contains(expires.timeIntervalSince(told))
        }
    }
}
