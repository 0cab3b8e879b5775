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
        registrableDomain(of: domain.utf8.last == UInt8(ascii: ".") ? String(domain.dropLast()) : domain) == nil
    }

    /// The domain at or above `host`, a canonical name, that somebody registered; `nil` when `host` is a public suffix.
    func registrableDomain(of host: String) -> String? {
        guard host.utf8.contains(UInt8(ascii: ".")), host.utf8.first != UInt8(ascii: ".") else { return nil }
        switch rules {
        case .list(let list): return list.registrableDomain(of: host)
        case .libpsl(let library): return library.registrableDomain(of: host)
        case .defaultRule: return host.split(separator: ".").suffix(2).joined(separator: ".")
        }
    }
}
