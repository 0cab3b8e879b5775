/// What a new load does to the earlier loads of the same request.
public enum RestartPolicy: Sendable {
    /// The earlier loads are cancelled.
    case cancelPrevious
    /// Nothing is sent; the call returns the ID of the load that runs.
    case ignoreNew
    /// All run, and each ending is delivered; an older response never replaces a newer one.
    case concurrent
}
