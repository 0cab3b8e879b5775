extension RouteTable {
    /// Adds `/cookies`, `/cookies/set?name=value` and `/cookies/delete?name`.
    mutating func addCookies() {
        get("/cookies") { request in
            let pairs = request.cookies.map { ($0.name, $0.value) }
            return .json(["cookies": Dictionary(pairs) { $1 }])
        }
        get("/cookies/set") { request in
            Self.setCookies(request) { "\($0.name)=\($0.value); Path=/" }
        }
        get("/cookies/delete") { request in
            Self.setCookies(request) { "\($0.name)=; Path=/; Max-Age=0" }
        }
    }

    private static func setCookies(_ request: RecordedRequest, _ line: (FormItem) -> String) -> Response {
        let lines = request.queryItems.map(line)
        guard lines.allSatisfy(\.fitsHeader) else { return .badParameter }
        return lines.reduce(.redirect(to: "/cookies")) { $0.adding("Set-Cookie", $1) }
    }
}
