import Foundation

/// A list in the format of publicsuffix.org and the algorithm that is written there.
struct PublicSuffixList: Sendable {
    /// Rules in their ASCII form; a wildcard is kept as its parent, an exception as its name.
    private var names: Set<String> = []
    private var wildcards: Set<String> = []
    private var exceptions: Set<String> = []

    /// The rules of the file; `nil` when it cannot be read or holds none.
    init?(contentsOf file: URL) {
        guard let data = try? Data(contentsOf: file) else { return nil }
        for line in data.split(separator: UInt8(ascii: "\n")) { readLine(line) }
        guard !names.isEmpty else { return nil }
    }

    private mutating func readLine(_ line: Data) {
        let text = line.prefix { $0 > 0x20 }
        guard !text.isEmpty, !text.starts(with: "//".utf8) else { return }
        if text.starts(with: "!".utf8) {
            exceptions.insert(Self.ascii(text.dropFirst()))
        } else if text.starts(with: "*.".utf8) {
            wildcards.insert(Self.ascii(text.dropFirst(2)))
        } else {
            names.insert(Self.ascii(text))
        }
    }

    private static func ascii(_ bytes: Data) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        return CookieHost.canonical(text) ?? text
    }

    /// Whether `domain`, a canonical name, is a public suffix; a name without a dot always is.
    func isPublicSuffix(_ domain: String) -> Bool {
        guard let dot = domain.utf8.firstIndex(of: UInt8(ascii: ".")) else { return true }
        if exceptions.contains(domain) { return false }
        return names.contains(domain) || wildcards.contains(String(domain[domain.utf8.index(after: dot)...]))
    }
}
