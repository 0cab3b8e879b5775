import Foundation

/// The public suffix rules that a jar goes by.
struct PublicSuffixRules: Sendable {
    private enum Rules {
        case list(PublicSuffixList)
        case libpsl(LibPSL)
        case defaultRule
    }

    private static let systemCopy = URL(filePath: "/usr/share/publicsuffix/public_suffix_list.dat")
    private static let system = libpsl ?? list(at: systemCopy) ?? defaultRule
    static let defaultRule = PublicSuffixRules(.defaultRule, .defaultRule)

    let source: PublicSuffixSource
    private let rules: Rules

    /// The rules of the list at `file`; without one, or where it cannot be read, the best that the system has.
    init(file: URL? = nil) {
        self = file.flatMap(Self.list) ?? Self.system
    }

    private init(_ source: PublicSuffixSource, _ rules: Rules) {
        self.source = source
        self.rules = rules
    }

    private static func list(at file: URL) -> PublicSuffixRules? {
        PublicSuffixList(contentsOf: file).map { PublicSuffixRules(.file(file), .list($0)) }
    }

    private static let libpsl = LibPSL().map { PublicSuffixRules(.libpsl, .libpsl($0)) }

    /// Whether no cookie may be set for the whole of `domain`, which is canonical.
    func isPublicSuffix(_ domain: String) -> Bool {
        let name = domain.utf8.last == UInt8(ascii: ".") ? String(domain.dropLast()) : domain
        guard name.utf8.contains(UInt8(ascii: ".")) else { return true }
        switch rules {
        case .list(let list): return list.isPublicSuffix(name)
        case .libpsl(let library): return library.isPublicSuffix(name)
        case .defaultRule: return false
        }
    }
}
