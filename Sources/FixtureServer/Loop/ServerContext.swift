/// The values that all connections of a server share.
struct ServerContext: Sendable {
    let options: ServerOptions
    let plan: Script.Plan
    let requestLog: RequestLog
}
