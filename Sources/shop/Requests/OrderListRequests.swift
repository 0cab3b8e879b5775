import Errand

/// Lists all orders by page number; an order that moves to another page is shown once.
final class OrdersByNumberRequest: PageAPIRequest<PageModel<Order>>, APIManager {
    let path = "/orders"
    let method = HTTPMethod.get
    override var strategy: any PageStrategy { .pageNumber(size: 50) }
    override var itemID: ItemID<Order>? { ItemID(\.id) }
}

/// Lists all orders by offset.
final class OrdersByOffsetRequest: PageAPIRequest<PageModel<Order>>, APIManager {
    let path = "/orders"
    let method = HTTPMethod.get
    override var strategy: any PageStrategy { .offset(limit: 50) }
    override var itemID: ItemID<Order>? { ItemID(\.id) }
}

/// Lists all orders by the cursor of each page.
final class OrdersByCursorRequest: PageAPIRequest<OrderFeed>, APIManager {
    let path = "/orders/feed"
    let method = HTTPMethod.get
    override var strategy: any PageStrategy { .cursor(sizeKey: "limit", size: 50) }
    override var itemID: ItemID<Order>? { ItemID(\.id) }
}

/// Lists all orders by the links in the headers.
final class OrdersByLinkRequest: PageAPIRequest<[Order]>, APIManager {
    let path = "/orders/linked"
    let method = HTTPMethod.get
    override var strategy: any PageStrategy { .link(sizeKey: "per_page", size: 50) }
    override var itemID: ItemID<Order>? { ItemID(\.id) }
}
