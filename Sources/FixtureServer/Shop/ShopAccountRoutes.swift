extension ShopAPI {
    private struct SignedIn: Encodable {
        let token: String
        let nickname: String
    }

    private struct Profile: Encodable {
        let account: String
        let nickname: String
    }

    /// Adds `/account/login`, `/account/logout` and `/account/me`.
    func addAccount(to table: inout RouteTable) {
        open(&table, "POST", "/account/login") { call in
            let account = catalog.accounts.first { $0.account == call.inputs["account"] }
            guard let account, account.password == call.inputs["password"] else { throw ShopRefusal.wrongPassword }
            let session = store.signIn(account.account)
            return .envelope(SignedIn(token: session.token, nickname: account.nickname))
                .adding("Set-Cookie", "sid=\(session.id); Path=/; HttpOnly; Max-Age=86400")
        }
        open(&table, "POST", "/account/logout") { call in
            store.signOut(ShopCredentials(call.request))
            return .envelope(Nothing()).adding("Set-Cookie", "sid=; Path=/; HttpOnly; Max-Age=0")
        }
        members(&table, "GET", "/account/me") { _, session in
            let account = catalog.accounts.first { $0.account == session.account }
            return .envelope(Profile(account: session.account, nickname: account?.nickname ?? ""))
        }
    }
}
