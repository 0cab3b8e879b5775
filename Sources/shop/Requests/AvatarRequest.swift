import Errand

/// Uploads a picture, which the screen adds as a part of the form.
final class AvatarRequest: BaseAPIRequest, APIManager {
    typealias Response = StoredPicture
    let path = "/account/avatar"
    let method = HTTPMethod.post

    override var requestSerializer: RequestSerializer { .multipart }
    override var options: APIRequestOptions { APIRequestOptions(reportsProgress: true) }
}
