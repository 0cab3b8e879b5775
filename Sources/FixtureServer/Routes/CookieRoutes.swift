extension RouteTable {
    /// `/cookies`, `/cookies/set?name=value` and `/cookies/delete?name`: what a cookie jar does.
    mutating func addCookies() {
        get("/cookies") { request in
            let pairs = request.cookies.map { ($0.name, $0.value) }
            return .json(["cookies": Dictionary(pairs) { $1 }])
        }
        get("/cookies/set") { request in
            request.queryItems.reduce(.redirect(to: "/cookies")) {
                $0.adding("Set-Cookie", "\($1.name)=\($1.value); Path=/")
            }
        }
        get("/cookies/delete") { request in
            request.queryItems.reduce(.redirect(to: "/cookies")) {
                $0.adding("Set-Cookie", "\($1.name)=; Path=/; Max-Age=0")
            }
        }
    }
}
