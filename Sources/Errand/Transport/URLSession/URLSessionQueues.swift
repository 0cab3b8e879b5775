import Dispatch

/// The two serial queues of a transport.
///
/// Starting, cancelling and answering a task each wait for the one queue that all sessions of a process share on Linux;
/// a queue of their own keeps that wait from the callbacks.
struct URLSessionQueues: Sendable {
    /// Where the session calls back, and where callers are resumed.
    let callbacks = DispatchQueue(label: "errand.urlsession.callbacks")
    /// Where tasks are started, cancelled and answered, so that none is answered after it was cancelled.
    let tasks = DispatchQueue(label: "errand.urlsession.tasks")
}
