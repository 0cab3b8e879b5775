extension ShopAPI {
    private static let stations = ["packed in Shenzhen", "on a train to Berlin", "delivered"]
    private static let words = ["It", " ships", " today,", " and", " arrives", " on", " Friday."]

    /// Adds `/orders/{order}/way`, an event stream whose connection is lost once, and `/assistant`, whose response grows.
    func addStreams(to table: inout RouteTable) {
        members(&table, "GET", "/orders/:id/way") { call, _ in
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
            switch call.request.header("Last-Event-ID") {
            case nil: return .script(.write(head + "retry: 20\n\n" + event(1) + event(2) + "data: lost"), .close)
            case "2": return .script(.write(head + event(3)), .close)
            default: return .status(204)
            }
        }
        members(&table, "POST", "/assistant") { _, _ in
            .chunked(Self.words.map { Array("data: \($0)\n\n".utf8) }, headers: ["Content-Type": "text/event-stream"])
        }
    }

    private func event(_ number: Int) -> String {
        "id: \(number)\nevent: station\ndata: {\"number\":\(number),\"text\":\"\(Self.stations[number - 1])\"}\n\n"
    }
}
