/// What the shop has kept of an upload.
struct StoredPicture: Decodable, Sendable {
    let filename: String
    let bytes: Int
    let sha256: String
}
