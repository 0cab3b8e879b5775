import Foundation

enum PublicSuffixList: Sendable {
    case rules(PublicSuffixRules)
    case libpsl(LibPSL)
    case defaultRule

    private static let systemFile = URL(filePath: "/usr/share/publicsuffix/public_suffix_list.dat")
    private static let system = LibPSL().map(Self.libpsl) ?? list(at: systemFile) ?? .defaultRule

    /// Without a readable file, the best list of the system.
    init(file: URL? = nil) {
        self = file.flatMap(Self.list) ?? Self.system
    }

    /// Of each file, for all jars: a list takes a megabyte, and some time to read.
    private static let lists = Lock<[String: (version: [UInt64], list: PublicSuffixList)]>([:])

    /// `nil` if the file is no list.
    static func list(at file: URL) -> PublicSuffixList? {
        let path = file.absoluteURL.path(percentEncoded: false)
        guard file.isFileURL, let version = stat(ofTarget: path)?.version else { return nil }
        if let known = lists.withLock({ $0[path] }), known.version == version { return known.list }
        guard let list = PublicSuffixRules(contentsOf: file).map(Self.rules) else { return nil }
        lists.withLock { $0[path] = (version, list) }
        return list
    }

    /// `domain` is canonical.
    func isPublicSuffix(_ domain: String) -> Bool {
        registrableDomain(of: domain.utf8.last == UInt8(ascii: ".") ? String(domain.dropLast()) : domain) == nil
    }

    /// `host` is canonical; `nil` when it is a public suffix.
    func registrableDomain(of host: String) -> String? {
        guard host.utf8.contains(UInt8(ascii: ".")), host.utf8.first != UInt8(ascii: ".") else { return nil }
        switch self {
        case .rules(let rules): return rules.registrableDomain(of: host)
        case .libpsl(let library): return library.registrableDomain(of: host)
        case .defaultRule: return host.split(separator: ".").suffix(2).joined(separator: ".")
        }
    }
}

/// The rules of a list in the format of publicsuffix.org, with the matching algorithm that is specified there.
struct PublicSuffixRules: Sendable {
    /// Of names in their ASCII form: `name`, `*.name` for every direct subdomain, and `!name` for an exception.
    private let rules: Set<String>

    init?(contentsOf file: URL) {
        guard let bytes = try? [UInt8](Data(contentsOf: file)) else { return nil }
        rules = Set(bytes.split(separator: UInt8(ascii: "\n")).compactMap(Self.rule))
        guard !rules.isEmpty else { return nil }
    }

    func registrableDomain(of host: String) -> String? {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        let names = labels.indices.map { labels[$0...].joined(separator: ".") }
        // The longest name with a rule decides; without one, the rule is "*": the last label is the suffix.
        let matched = names.indices.lazy.compactMap { startOfSuffix(byRulesFor: $0, of: names) }.first
        let start = matched ?? names.count - 1
        return start > 0 ? names[start - 1] : nil
    }

    private func startOfSuffix(byRulesFor index: Int, of names: [String]) -> Int? {
        if rules.contains("!" + names[index]) { return index + 1 }
        let isWild = index + 1 < names.count && rules.contains("*." + names[index + 1])
        return isWild || rules.contains(names[index]) ? index : nil
    }

    private static func rule(in line: ArraySlice<UInt8>) -> String? {
        let text = String(decoding: line.prefix { $0 > 0x20 }, as: UTF8.self)
        guard !text.isEmpty, !text.hasPrefix("//") else { return nil }
        let mark = ["!", "*."].first(where: text.hasPrefix) ?? ""
        let name = String(text.dropFirst(mark.count))
        return mark + (CookieDomain.canonical(name) ?? name)
    }
}

/// The system's libpsl, which is in most processes as a dependency of libcurl; bound at run time, never required.
// Unchecked because of the pointer: libpsl allows concurrent reads of the list, which is never freed.
struct LibPSL: @unchecked Sendable {
    private typealias Latest = @convention(c) (UnsafePointer<CChar>?) -> OpaquePointer?
    private typealias RegistrableDomain =
        @convention(c) (OpaquePointer, UnsafePointer<CChar>) -> UnsafePointer<CChar>?

    private let list: OpaquePointer
    private let find: RegistrableDomain

    /// `nil` when there is no libpsl with a list.
    init?() {
        guard let library = dlopen("libpsl.so.5", RTLD_LAZY),
            let latest = dlsym(library, "psl_latest"),
            let find = dlsym(library, "psl_registrable_domain"),
            let list = unsafeBitCast(latest, to: Latest.self)(nil)
        else { return nil }
        self.list = list
        self.find = unsafeBitCast(find, to: RegistrableDomain.self)
    }

    func registrableDomain(of host: String) -> String? {
        // The result points into the argument, so it is copied while the argument lives.
        host.withCString { find(list, $0).map { String(cString: $0) } }
    }
}
