import Errand

/// The screen of a slow request, which the customer cancels.
final class SlowScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var request = SlowRequest(delegate: self, paramSource: self, proxy: app.proxy)

    func appear() -> RequestID { request.loadData() }

    func params(for request: BaseAPIRequest) -> APIParams? { ["seconds": 30] }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) { show("It came after all.") }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }

    func managerCallAPIDidCancel(_ request: BaseAPIRequest) { showCancelled() }
}
