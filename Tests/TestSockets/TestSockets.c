// Replaces `socket` in the test process by a function whose sockets are not inherited by child processes, and whose descriptors
// have numbers that are not used again soon.
//
// libcurl 7.88.0 to 8.1 closes the socket of a transfer that ends while it connects (refused, reset, timed out or cancelled)
// without the callback through which FoundationNetworking removes it from libdispatch, which removes it later. A socket that gets
// the same number in between has no events, so that its request is never answered. While a child process has the closed socket,
// epoll keeps it, with a pointer to memory that libdispatch has freed: the next event on it ends the process, or stops the events
// of another connection. Tests end requests and start child processes all the time.
#if defined(__linux__) && !__has_feature(thread_sanitizer)
#define _GNU_SOURCE
#include "TestSockets.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_bool as_requested;
static atomic_uint count;

void test_sockets_stay_as_requested(void) { atomic_store(&as_requested, true); }

/// Returns a duplicate of a descriptor with the next of about 2,000 numbers, and closes it; the descriptor itself if there is none.
static int with_next_number(int descriptor) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return descriptor;
    unsigned half = (limit.rlim_cur < 4096 ? (unsigned)limit.rlim_cur : 4096) / 2;
    if (half == 0) return descriptor;
    unsigned wanted = half + atomic_fetch_add(&count, 1) % half;
    int duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, (int)wanted);
    if (duplicate < 0) return descriptor;
    // Not a number again that follows those of sockets which stay open.
    atomic_fetch_add(&count, (unsigned)duplicate - wanted);
    close(descriptor);
    return duplicate;
}

__attribute__((visibility("default"))) int socket(int domain, int type, int protocol) {
    if (atomic_load(&as_requested)) return (int)syscall(SYS_socket, domain, type, protocol);
    int descriptor = (int)syscall(SYS_socket, domain, type | SOCK_CLOEXEC, protocol);
    return descriptor < 0 ? descriptor : with_next_number(descriptor);
}
#else
#include "TestSockets.h"

void test_sockets_stay_as_requested(void) {}
#endif
