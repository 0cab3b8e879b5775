import Errand

/// The profile of the signed-in customer.
final class ProfileScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var request = ProfileRequest(delegate: self, paramSource: self, proxy: app.proxy)

    var profile: Profile? { request.response }

    func appear() { request.loadData() }

    func params(for request: BaseAPIRequest) -> APIParams? { nil }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        var table = Table(.left("Account"), .left("Nickname"))
        if let profile { table.add(profile.account, profile.nickname) }
        show(table)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }
}
