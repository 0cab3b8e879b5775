import Foundation

/// The HTTP API of the demo shop, as routes; every JSON answer is `{"errcode":200,"msg":"ok","data":…}`.
///
/// A session counts if the cookie `sid` or the header `X-Token` fits a live one.
package struct ShopAPI: Sendable {
    let catalog: ShopCatalog
    let store = ShopStore()

    /// Opens a shop with the data files in `fixtures`.
    package init(fixtures: URL = Fixtures.directory) throws {
        catalog = try ShopCatalog(fixtures)
    }

    /// What the shop was asked for so far.
    package var log: ShopLog { store.log }

    /// The routes of the shop.
    package var routes: RouteTable {
        var table = RouteTable()
        addAccount(to: &table)
        addMall(to: &table)
        addOrders(to: &table)
        addFiles(to: &table)
        addTroubles(to: &table)
        return table
    }
}

/// One call of the shop.
struct ShopCall: Sendable {
    let request: RecordedRequest
    let inputs: ShopInputs

    /// A call as a request makes it.
    init(_ request: RecordedRequest) {
        self.request = request
        inputs = ShopInputs(request)
    }
}

extension ShopAPI {
    /// Adds a route that everyone may call.
    func open(
        _ table: inout RouteTable,
        _ method: String,
        _ pattern: String,
        _ handler: @escaping @Sendable (ShopCall) throws -> Answer
    ) {
        table.on(method, pattern) { [store] request in
            store.noteHit(request.path)
            do {
                return try handler(ShopCall(request))
            } catch let refusal as ShopRefusal {
                return .refusal(refusal)
            }
        }
    }

    /// Adds a route for those who are signed in.
    func members(
        _ table: inout RouteTable,
        _ method: String,
        _ pattern: String,
        _ handler: @escaping @Sendable (ShopCall, ShopSession) throws -> Answer
    ) {
        open(&table, method, pattern) { [store] call in
            try handler(call, store.authorize(ShopCredentials(call.request)))
        }
    }
}

extension FixtureServer {
    /// Starts a server with the standard routes and a shop.
    ///
    /// - Throws: ``SystemError``, or an error of the data files.
    package static func startShop(
        _ options: ServerOptions = ServerOptions(),
        fixtures: URL = Fixtures.directory
    ) throws -> FixtureServer {
        var routes = RouteTable.standard
        routes.add(try ShopAPI(fixtures: fixtures).routes)
        return try start(options, routes: routes)
    }
}
