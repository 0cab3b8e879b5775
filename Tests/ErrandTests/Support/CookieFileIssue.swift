import Testing

@testable import Errand

/// Records a problem of a cookie file as an issue while the test's folder exists.
///
/// A jar saves a moment after its last change, which may be after the end of a test and of its folder.
func recordIssue(_ error: CookieFileError, _ comment: String = "", while folder: TemporaryFolder?) {
    guard folder != nil else { return }
    Issue.record("\(comment)\(error)")
}
