extension RouteTable {
    /// The routes with the names of httpbin, and the faulty ones.
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
