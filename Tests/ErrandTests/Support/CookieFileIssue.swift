import Testing

@testable import Errand

/// Records a problem of a cookie file as an issue.
///
/// A jar saves a moment after its last change, which may be after the end of a test, when the folder has been removed: that is
/// no issue.
func recordIssue(_ error: CookieFileError, _ comment: String = "") {
    guard !error.reason.contains("No such file or directory") else { return }
    Issue.record("\(comment)\(error)")
}
