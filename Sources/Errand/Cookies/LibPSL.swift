import Foundation

/// The system's libpsl, which libcurl has already brought into most processes; bound at run time, never required.
// Unchecked because of the pointer: libpsl lets any thread read the list, which is never freed.
struct LibPSL: @unchecked Sendable {
    private typealias Latest = @convention(c) (UnsafePointer<CChar>?) -> OpaquePointer?
    private typealias RegistrableDomain =
        @convention(c) (OpaquePointer, UnsafePointer<CChar>) -> UnsafePointer<CChar>?

    private let list: OpaquePointer
    private let find: RegistrableDomain

    /// `nil` where there is no libpsl with a list.
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
        // The answer points into the text that was asked about, so it has to be copied while that lives.
        host.withCString { find(list, $0).map { String(cString: $0) } }
    }
}
