import Errand

/// The owner of a request adapter that signs the final bytes of a request.
///
/// `seal(with:)` inserts its adapter before the first of these, so that what is signed is what is sent.
protocol SigningAdapter: Sendable {}
