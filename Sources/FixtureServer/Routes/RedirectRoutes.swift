extension RouteTable {
    /// Adds `/redirect/N`, `/redirect-to?url=&status_code=` and `/redirect-loop`.
    mutating func addRedirects() {
        any("/redirect/:count") { request in
            guard let count = request.integer("count") else { return .badParameter }
            return .redirect(to: count > 1 ? "/redirect/\(count - 1)" : "/anything")
        }
        any("/redirect-to") { request in
            guard let url = request.queryValue("url"), url.fitsHeader else { return .badParameter }
            return .redirect(to: url, status: Int(request.integer("status_code") ?? 302))
        }
        any("/redirect-loop") { _ in .redirect(to: "/redirect-loop") }
    }
}
