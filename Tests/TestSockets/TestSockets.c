// Replaces `socket` in the test process by a function whose sockets are not inherited by child processes.
//
// FoundationNetworking's are. libcurl 7.88.0 to 8.1 closes the socket of a transfer that is cancelled while it connects without the
// callback through which Foundation removes it from epoll. While a child process has that socket, epoll keeps it, with a pointer to
// memory that libdispatch has freed: the next event on it ends the process, or stops the events of another connection, whose
// request is then never answered. Tests start child processes and cancel requests all the time.
#if defined(__linux__) && !__has_feature(thread_sanitizer)
#define _GNU_SOURCE
#include "TestSockets.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_bool as_requested;

void test_sockets_stay_as_requested(void) { atomic_store(&as_requested, true); }

__attribute__((visibility("default"))) int socket(int domain, int type, int protocol) {
    int flags = atomic_load(&as_requested) ? 0 : SOCK_CLOEXEC;
    return (int)syscall(SYS_socket, domain, type | flags, protocol);
}
#else
#include "TestSockets.h"

void test_sockets_stay_as_requested(void) {}
#endif
