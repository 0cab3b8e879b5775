import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Media types are guessed by the extension of a file name", .timeLimit(.minutes(10)))
struct MediaTypeTests {
    @Test(arguments: [
        ("a.jpg", "image/jpeg"), ("a.JPG", "image/jpeg"), ("a.tar.gz", "application/gzip"), ("头像.png", "image/png"),
        (".json", "application/json"), ("a.HeIc", "image/heic"), ("a.mp4", "video/mp4"), ("a.txt", "text/plain"),
        ("a.unknown", nil), ("a", nil), ("", nil), ("a.", nil), ("jpg", nil), ("a.jp\u{0}g", nil),
    ]) func `The extension decides, in any case`(_ name: String, _ type: String?) {
        #expect(MediaType.guess(fileName: name) == type)
    }
}
