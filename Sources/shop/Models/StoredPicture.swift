/// The shop's description of an uploaded picture.
struct StoredPicture: Decodable, Sendable {
    let filename: String
    let bytes: Int
    let sha256: String
}
