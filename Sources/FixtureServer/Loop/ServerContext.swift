/// What every connection of a server shares.
struct ServerContext: Sendable {
    let options: ServerOptions
    let plan: Script.Plan
    let ledger: Ledger
}
