extension RouteTable {
    /// The routes of this server that are named as httpbin names them, and its faulty ones.
    package static let standard: RouteTable = {
        var table = RouteTable()
        table.addInspection()
        table.addCookies()
        table.addRedirects()
        table.addBodies()
        table.addFaults()
        return table
    }()
}
