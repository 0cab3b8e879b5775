import Errand
import FixtureServer
import Foundation

extension Walk {
    /// Uploads a picture; the server must receive exactly the bytes of the file.
    func uploadAvatar() async throws {
        let picture = Picture.bitmap()
        let file = folder.file("avatar.bmp")
        try picture.write(to: file)
        let screen = AvatarScreen(app, picture: file)
        screen.submit()
        try await screen.content()
        try expect(screen.stored?.filename == "avatar.bmp", "the picture has another name on the server")
        try expect(screen.stored?.sha256 == SHA256.hexadecimal(of: picture), "the server got other bytes")
        try screen.progress.expectWhole(atLeast: picture.count)
    }
}

extension [TransferProgress] {
    /// Checks that the reports of progress increase to the total, which is at least `count` bytes.
    func expectWhole(atLeast count: Int) throws(StepFailure) {
        guard let last, let total = last.totalBytes else {
            throw StepFailure("there was no progress, or none of a known whole")
        }
        let bytes = map(\.completedBytes)
        try expect(zip(bytes, bytes.dropFirst()).allSatisfy(<=), "the progress went back")
        try expect(last.completedBytes == total, "the progress ended at \(last.completedBytes) of \(total) bytes")
        try expect(
            total >= Int64(count),
            "the whole of the progress is \(total) bytes, of which \(count) are the file's"
        )
    }
}
