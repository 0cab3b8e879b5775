import Errand
import Foundation

/// Uploads the user's picture, and redeems coupons.
@MainActor final class ProfileScreen: APIManagerParamSource, APIManagerCallbackDelegate {
    private(set) var caption = ""
    private(set) var coupons: [String] = []
    private(set) var notice: String?
    private(set) var alert: String?
    private(set) var uploadedBytes: [Int64] = []
    private(set) lazy var upload = PictureUpload(delegate: self, paramSource: self)
    private(set) lazy var redeem = CouponRequest(coupons: backend, screen: self)
    private let backend: APIService

    init(coupons: APIService) {
        backend = coupons
    }

    func pictureChosen(_ picture: URL) {
        upload.picture = picture
        upload.loadData()
    }

    func couponEntered(_ coupon: String) { redeem.loadData(params: ["coupon": coupon]) }

    func params(for request: BaseAPIRequest) -> APIParams? { ["caption": "Me & my books"] }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        alert = nil
        switch request {
        case upload:
            guard let picture = upload.response else { return }
            caption = "\(picture.caption): \(picture.name), \(picture.type), \(picture.size) bytes"
        default:
            notice = redeem.serverMessage
            coupons += redeem.response.map { ["\($0.coupon) \($0.percent)%"] } ?? []
        }
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        alert = error.message
    }

    func managerCallAPI(_ request: BaseAPIRequest, didMake progress: TransferProgress) {
        guard progress.direction == .upload else { return }
        uploadedBytes.append(progress.completedBytes)
    }
}
