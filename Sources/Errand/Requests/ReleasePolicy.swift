/// What happens to the loads of a request when the request object is released.
public enum ReleasePolicy: Sendable {
    /// They are cancelled.
    case cancel
    /// They continue, and no delegate is notified of their endings.
    case finish
}
