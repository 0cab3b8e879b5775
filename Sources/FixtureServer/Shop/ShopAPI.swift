import Foundation

/// The HTTP API of the demo shop, as routes; every JSON response is `{"errcode":200,"msg":"ok","data":…}`.
///
/// A call is signed in when its cookie `sid` or its header `X-Token` matches a live session.
package struct ShopAPI: Sendable {
    let catalog: ShopCatalog
    let store = ShopStore()

    /// Creates a shop with the data files in `fixtures`.
    package init(fixtures: URL = Fixtures.directory) throws {
        catalog = try ShopCatalog(fixtures)
    }

    /// The counts of the calls so far.
    package var log: ShopLog { store.log }

    /// The routes of the shop.
    package var routes: RouteTable {
        var table = RouteTable()
        addAccount(to: &table)
        addMall(to: &table)
        addOrders(to: &table)
        addFiles(to: &table)
        addPartners(to: &table)
        addWallet(to: &table)
        addDebugRoutes(to: &table)
        return table
    }
}

/// One call to the shop.
struct ShopCall: Sendable {
    let request: RecordedRequest
    let inputs: ShopInputs

    /// Creates the call of a request.
    init(_ request: RecordedRequest) {
        self.request = request
        inputs = ShopInputs(request)
    }
}

extension ShopAPI {
    /// Adds a route that needs no session.
    func open(
        _ table: inout RouteTable,
        _ method: String,
        _ pattern: String,
        _ handler: @escaping @Sendable (ShopCall) throws -> Response
    ) {
        table.on(method, pattern) { [store] request in
            store.countRequest(request.path)
            do {
                return try handler(ShopCall(request)).adding("Date", HTTPDate.now)
            } catch let refusal as ShopRefusal {
                return .refusal(refusal).adding("Date", HTTPDate.now)
            }
        }
    }

    /// Adds a route that needs a session.
    func members(
        _ table: inout RouteTable,
        _ method: String,
        _ pattern: String,
        _ handler: @escaping @Sendable (ShopCall, ShopSession) throws -> Response
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
