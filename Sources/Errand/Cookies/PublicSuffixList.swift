import Foundation

/// A list in the format of publicsuffix.org, and the algorithm that is written there.
struct PublicSuffixList: Sendable {
    private struct Rules: OptionSet {
        let rawValue: UInt8
        static let suffix = Rules(rawValue: 1)
        /// Every name right below this one is a suffix.
        static let wildcard = Rules(rawValue: 2)
        static let exception = Rules(rawValue: 4)
    }

    /// By name, in its ASCII form, without `*.` or `!`.
    private var rules: [String: Rules] = [:]

    /// The rules of the file; `nil` when it cannot be read or holds none.
    init?(contentsOf file: URL) {
        guard let bytes = try? [UInt8](Data(contentsOf: file)) else { return nil }
        for line in bytes.split(separator: UInt8(ascii: "\n")) { readLine(line) }
        guard !rules.isEmpty else { return nil }
    }

    /// The domain at or above `host` that somebody registered; `nil` when `host` is a public suffix itself.
    func registrableDomain(of host: String) -> String? {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        let names = labels.indices.map { labels[$0...].joined(separator: ".") }
        // The longest name with a rule decides; where there is none, the rule is "*": the last label is the suffix.
        let ruled = names.indices.lazy.compactMap { startOfSuffix(byRulesFor: $0, of: names) }.first
        let start = ruled ?? names.count - 1
        return start > 0 ? names[start - 1] : nil
    }

    private func startOfSuffix(byRulesFor index: Int, of names: [String]) -> Int? {
        let own = rules[names[index]] ?? []
        if own.contains(.exception) { return index + 1 }
        let above = index + 1 < names.count ? rules[names[index + 1]] ?? [] : []
        return own.contains(.suffix) || above.contains(.wildcard) ? index : nil
    }

    private mutating func readLine(_ line: ArraySlice<UInt8>) {
        let text = line.prefix { $0 > 0x20 }
        guard !text.isEmpty, !text.starts(with: "//".utf8) else { return }
        if text.starts(with: "!".utf8) {
            rules[Self.name(text.dropFirst()), default: []].insert(.exception)
        } else if text.starts(with: "*.".utf8) {
            rules[Self.name(text.dropFirst(2)), default: []].insert(.wildcard)
        } else {
            rules[Self.name(text), default: []].insert(.suffix)
        }
    }

    private static func name(_ bytes: ArraySlice<UInt8>) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        return CookieHost.canonical(text) ?? text
    }
}
