/// What a new load does to the earlier loads of the same request.
public enum RestartPolicy: Sendable {
    /// The earlier loads are cancelled.
    case cancelPrevious
    /// No new load begins; the call returns the ID of the running load.
    case ignoreNew
    /// All loads run, and every ending is delivered; an older response never replaces a newer one.
    case concurrent
}
