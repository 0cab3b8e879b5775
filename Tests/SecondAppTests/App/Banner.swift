import Errand

/// Shows the errors of all screens, except where a screen has a better place for them.
@MainActor final class Banner: ErrorPresenter {
    private(set) var texts: [String] = []

    func presentError(_ error: APIError, of request: BaseAPIRequest) {
        texts.append(error.message)
    }
}
