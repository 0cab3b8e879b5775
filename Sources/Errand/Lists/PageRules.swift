/// What a request says of its list.
struct PageRules<Item> {
    let strategy: any PageStrategy
    let itemID: ItemID<Item>?
    let maxPages: Int?
}
