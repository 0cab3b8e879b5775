#if THREAD_SANITIZER
import Errand

/// The lock that the thread sanitizer understands.
typealias Mutex = Errand.Mutex
#endif
