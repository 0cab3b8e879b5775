import Errand

/// A screen of requests that fail, each with a separate button.
final class TroubleScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var broken = BrokenRequest(delegate: self, paramSource: self, proxy: app.proxy)
    private lazy var stocktaking = StocktakingRequest(delegate: self, paramSource: self, proxy: app.proxy)
    private lazy var hasty = HastyRequest(delegate: self, paramSource: self, proxy: app.proxy)

    func askBrokenServer() { broken.loadData() }

    func askBusyShop() { stocktaking.loadData() }

    func askSlowServer() { hasty.loadData() }

    func params(for request: BaseAPIRequest) -> APIParams? { request === hasty ? ["seconds": 30] : nil }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) { show("No trouble.") }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }
}

/// The screen of a slow request, which the customer cancels.
final class SlowScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var request = SlowRequest(delegate: self, paramSource: self, proxy: app.proxy)

    func appear() -> RequestID { request.loadData() }

    func params(for request: BaseAPIRequest) -> APIParams? { ["seconds": 30] }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) { show("It came after all.") }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }

    func managerCallAPIDidCancel(_ request: BaseAPIRequest) { showCancelled() }
}
