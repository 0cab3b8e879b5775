// Replaces `socket` in the test process by a function whose sockets are not inherited by child processes, and whose descriptors
// have numbers that are not used again soon.
//
// libcurl 7.88.0 to 8.1 closes the socket of a transfer that ends while it connects (refused, reset, timed out or cancelled)
// without the callback through which FoundationNetworking removes it from libdispatch, which removes it later. A socket that gets
// the same number in between has no events, so that its request is never served. While a child process has the closed socket,
// epoll keeps it, with a pointer to memory that libdispatch has freed: the next event on it ends the process, or stops the events
// of another connection. Tests end requests and start child processes all the time.
//
// `accept4` is replaced for `test_sockets_leave_free` only, and `readdir` because of a mistake of Foundation, stated below.
#if defined(__linux__) && !__has_feature(thread_sanitizer)
#define _GNU_SOURCE
#include "TestSockets.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_bool as_requested;
static atomic_uint count;
static atomic_int left_free;

void test_sockets_stay_as_requested(void) { atomic_store(&as_requested, true); }

void test_sockets_leave_free(int number) { atomic_store(&left_free, number); }

/// Returns whether a new descriptor would leave fewer free than it has to.
static bool is_scarce(void) {
    int free = -atomic_load(&left_free);
    struct rlimit limit;
    if (free == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    for (rlim_t number = 0; number < limit.rlim_cur && free <= 0; number++) {
        if (fcntl((int)number, F_GETFD) < 0) free++;
    }
    return free <= 0;
}

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
    int descriptor = is_scarce() ? (errno = EMFILE, -1) : (int)syscall(SYS_socket, domain, type | SOCK_CLOEXEC, protocol);
    return descriptor < 0 ? descriptor : with_next_number(descriptor);
}

__attribute__((visibility("default"))) int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags) {
    return is_scarce() ? (errno = EMFILE, -1) : (int)syscall(SYS_accept4, listener, address, length, flags);
}

// To start a program, Foundation reads the directory of the open descriptors, and copies each entry as if it had the longest name.
// With more than a thousand descriptors, that can be beyond the memory of the directory. Such an entry is returned as a copy.
__attribute__((visibility("default"))) struct dirent *readdir(DIR *directory) {
    static _Atomic(struct dirent *(*)(DIR *)) found;
    static _Thread_local struct dirent copy;
    struct dirent *(*next)(DIR *) = atomic_load(&found);
    if (!next) {
        next = (struct dirent *(*)(DIR *))dlsym(RTLD_NEXT, "readdir");
        atomic_store(&found, next);
    }
    struct dirent *entry = next(directory);
    if (!entry || (uintptr_t)entry % 4096 + sizeof copy <= 4096) return entry;
    memcpy(&copy, entry, entry->d_reclen);
    return &copy;
}
#else
#include "TestSockets.h"

void test_sockets_stay_as_requested(void) {}

void test_sockets_leave_free(int number) {}
#endif
