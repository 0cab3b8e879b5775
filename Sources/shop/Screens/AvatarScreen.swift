import Errand
import Foundation

/// The screen on which the customer uploads an avatar.
final class AvatarScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var upload = AvatarRequest(delegate: self, paramSource: self, proxy: app.proxy)
    private lazy var bar = ProgressBar(app.terminal, unit: "bytes")
    private let picture: URL

    private(set) var progress: [TransferProgress] = []
    var stored: StoredPicture? { upload.response }

    init(_ app: App, picture: URL) {
        self.picture = picture
        super.init(app)
    }

    func submit() { upload.loadData() }

    func params(for request: BaseAPIRequest) -> APIParams? { nil }

    func appendParts(to form: inout MultipartForm, for request: BaseAPIRequest) {
        form.append(file: picture, name: "avatar", contentType: "image/bmp")
    }

    func managerCallAPI(_ request: BaseAPIRequest, didMake progress: TransferProgress) {
        guard progress.direction == .upload else { return }
        self.progress.append(progress)
        bar.show(progress)
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        bar.finish(progress.last)
        var table = Table(.left("Picture"), .right("Bytes"), .left("SHA-256"))
        if let stored { table.add(stored.filename, "\(stored.bytes)", stored.sha256) }
        show(table)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }
}
