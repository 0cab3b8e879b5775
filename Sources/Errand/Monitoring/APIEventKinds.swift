extension APIEvent {
    /// A selection of the kinds of events; see ``APIMonitor/observedKinds``.
    public struct Kinds: OptionSet, Sendable, Hashable {
        /// The bits of the kinds.
        public let rawValue: UInt32

        /// Creates a selection from its bits.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// ``APIEvent/Kind/began``.
        public static let began = Kinds(rawValue: 1)
        /// ``APIEvent/Kind/queued``.
        public static let queued = Kinds(rawValue: 1 << 1)
        /// ``APIEvent/Kind/started``.
        public static let started = Kinds(rawValue: 1 << 2)
        /// ``APIEvent/Kind/joined``.
        public static let joined = Kinds(rawValue: 1 << 3)
        /// ``APIEvent/Kind/requestMade(_:)``.
        public static let requestMade = Kinds(rawValue: 1 << 4)
        /// ``APIEvent/Kind/sent``.
        public static let sent = Kinds(rawValue: 1 << 5)
        /// ``APIEvent/Kind/headReceived(status:headers:)``.
        public static let headReceived = Kinds(rawValue: 1 << 6)
        /// ``APIEvent/Kind/redirected(_:)``.
        public static let redirected = Kinds(rawValue: 1 << 7)
        /// ``APIEvent/Kind/answered(_:)``.
        public static let answered = Kinds(rawValue: 1 << 8)
        /// ``APIEvent/Kind/answeredFromCache(_:)``.
        public static let answeredFromCache = Kinds(rawValue: 1 << 9)
        /// ``APIEvent/Kind/failed(_:)``.
        public static let failed = Kinds(rawValue: 1 << 10)
        /// ``APIEvent/Kind/renewed(_:)``.
        public static let renewed = Kinds(rawValue: 1 << 11)
        /// ``APIEvent/Kind/waiting(_:limit:)``.
        public static let waiting = Kinds(rawValue: 1 << 12)
        /// ``APIEvent/Kind/tryingAgain``.
        public static let tryingAgain = Kinds(rawValue: 1 << 13)
        /// ``APIEvent/Kind/ended(_:)``.
        public static let ended = Kinds(rawValue: 1 << 14)
        /// ``APIEvent/Kind/released``.
        public static let released = Kinds(rawValue: 1 << 15)

        /// Every kind, also of later versions.
        public static let all = Kinds(rawValue: .max)
        /// What happens between the complete request and its answer, and the answer.
        static let exchange: Kinds = [.requestMade, .sent, .headReceived, .redirected, .answered, .failed]
    }
}

extension APIEvent.Kind {
    /// The kind without its values.
    var kinds: APIEvent.Kinds {
        switch self {
        case .began: .began
        case .queued: .queued
        case .started: .started
        case .joined: .joined
        case .requestMade: .requestMade
        case .sent: .sent
        case .headReceived: .headReceived
        case .redirected: .redirected
        case .answered: .answered
        case .answeredFromCache: .answeredFromCache
        case .failed: .failed
        case .renewed: .renewed
        case .waiting: .waiting
        case .tryingAgain: .tryingAgain
        case .ended: .ended
        case .released: .released
        }
    }
}
