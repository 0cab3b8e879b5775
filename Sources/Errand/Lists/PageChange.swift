/// What a load has done to a list.
enum PageChange {
    case reload
    case rows(inserted: Range<Int>, removed: Range<Int>)
    case failure(APIError)
}
