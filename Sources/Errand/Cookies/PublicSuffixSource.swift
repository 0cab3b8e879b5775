public import Foundation

/// Where a jar's knowledge of public suffixes comes from.
///
/// A public suffix is a domain under which anybody may register a name, like `com` or `co.uk`; a cookie for all of it
/// would reach strangers, so none is stored.
public enum PublicSuffixSource: Sendable, Equatable {
    /// The list in this file, which is in the format of publicsuffix.org.
    case file(URL)
    /// The list inside the system's libpsl, the newest that it finds.
    case libpsl
    /// No list was found: every top-level domain is a public suffix, and nothing below one is.
    case defaultRule
}
