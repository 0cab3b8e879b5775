#if THREAD_SANITIZER
import Errand

/// The lock that the thread sanitizer supports.
typealias Mutex = Errand.Mutex
#endif
