@testable import Errand
import Synchronization

#if THREAD_SANITIZER
/// The lock that the thread sanitizer supports.
typealias Mutex = Errand.Mutex
#else
/// The lock of the standard library.
typealias Mutex<Value: ~Copyable> = Synchronization.Mutex<Value>
#endif
