import Foundation

/// The system's libpsl, which libcurl has already brought into most processes; bound at run time, never required.
///
// `@unchecked`: the handle is only read, which libpsl allows from any thread, and it lives as long as the process.
struct LibPSL: @unchecked Sendable {
    private typealias Latest = @convention(c) (UnsafePointer<CChar>?) -> OpaquePointer?
    private typealias IsPublicSuffix = @convention(c) (OpaquePointer, UnsafePointer<CChar>) -> CInt

    private let list: OpaquePointer
    private let ask: IsPublicSuffix

    /// `nil` where there is no libpsl with a list.
    init?() {
        guard let library = dlopen("libpsl.so.5", RTLD_LAZY),
            let latest = dlsym(library, "psl_latest"),
            let ask = dlsym(library, "psl_is_public_suffix"),
            let list = unsafeBitCast(latest, to: Latest.self)(nil)
        else { return nil }
        self.list = list
        self.ask = unsafeBitCast(ask, to: IsPublicSuffix.self)
    }

    func isPublicSuffix(_ domain: String) -> Bool {
        ask(list, domain) != 0
    }
}
