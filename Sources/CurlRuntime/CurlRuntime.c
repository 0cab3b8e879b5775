#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "CurlRuntime.h"

// Longer than other files, because the table of functions below is static and can be used only in this file.
#if defined(__linux__)

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    oldest_version = 0x074C00,
    global_all = 3,
    version_now = 3,
    message_done = 1,
    option_opensocketfunction = 20163,
    pause_cont = 0,
    option_opensocketdata = 10164,
    option_closesocketfunction = 20208,
    option_closesocketdata = 10209,
    option_noprogress = 43,
    option_ssl_ctx_function = 20108,
    option_ssl_ctx_data = 10109,
    option_xferinfofunction = 20219,
    option_xferinfodata = 10057,
    option_resolver_start_function = 20272,
    option_resolver_start_data = 10273,
    info_private = 0x100000 + 21,
};

/// `struct CURLMsg`.
typedef struct message {
    int kind;
    curlrt_easy *easy;
    union {
        void *any;
        int code;
    } result;
} message;

/// `struct curl_sockaddr`.
typedef struct socket_address {
    int family;
    int type;
    int protocol;
    unsigned int length;
    struct sockaddr address;
} socket_address;

/// The functions of libcurl that are used: result, name without `curl_`, and parameters.
#define FUNCTIONS(X) \
    X(int, global_init, (long)) \
    X(const curlrt_version *, version_info, (int)) \
    X(const char *, easy_strerror, (int)) \
    X(curlrt_easy *, easy_init, (void)) \
    X(void, easy_cleanup, (curlrt_easy *)) \
    X(int, easy_setopt, (curlrt_easy *, int, ...)) \
    X(int, easy_getinfo, (curlrt_easy *, int, ...)) \
    X(int, easy_pause, (curlrt_easy *, int)) \
    X(curlrt_multi *, multi_init, (void)) \
    X(int, multi_cleanup, (curlrt_multi *)) \
    X(int, multi_setopt, (curlrt_multi *, int, ...)) \
    X(int, multi_add_handle, (curlrt_multi *, curlrt_easy *)) \
    X(int, multi_remove_handle, (curlrt_multi *, curlrt_easy *)) \
    X(int, multi_perform, (curlrt_multi *, int *)) \
    X(int, multi_poll, (curlrt_multi *, void *, unsigned int, int, int *)) \
    X(int, multi_wakeup, (curlrt_multi *)) \
    X(message *, multi_info_read, (curlrt_multi *, int *))

static struct {
#define MEMBER(result, name, parameters) result(*name) parameters;
    FUNCTIONS(MEMBER)
} curl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char unavailable_reason[256] = "libcurl has not been loaded";
static bool is_usable = false;

/// The library in which all symbols are looked up: the process or the file.
static void *library = NULL;

static bool resolve(void *slot, const char *name) {
    void *symbol = dlsym(library, name);
    memcpy(slot, &symbol, sizeof symbol);
    if (!symbol) snprintf(unavailable_reason, sizeof unavailable_reason, "libcurl has no %s", name);
    return symbol != NULL;
}

static bool find_library(void) {
    library = RTLD_DEFAULT;
    if (dlsym(RTLD_DEFAULT, "curl_multi_init")) return true;
    library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) snprintf(unavailable_reason, sizeof unavailable_reason, "%s", dlerror());
    return library != NULL;
}

static bool resolve_all(void) {
#define AND_RESOLVE(result, name, parameters) && resolve(&curl.name, "curl_" #name)
    return true FUNCTIONS(AND_RESOLVE);
}

static atomic_bool is_exiting = false;
static atomic_int working = 0;

void curlrt_enter(void) {
    atomic_fetch_add(&working, 1);
    if (!atomic_load(&is_exiting)) return;
    atomic_fetch_sub(&working, 1);
    for (;;) pause();
}

void curlrt_leave(void) { atomic_fetch_sub(&working, 1); }

/// Stops working threads. Runs before the cleanup of OpenSSL, which frees memory that they read.
static void stop_threads_at_exit(void) {
    const struct timespec millisecond = {.tv_nsec = 1000000};
    atomic_store(&is_exiting, true);
    for (int tries = 0; tries < 300 && atomic_load(&working) > 0; tries++) nanosleep(&millisecond, NULL);
}

static void load(void) {
    const char *hidden = getenv("ERRAND_HIDE_LIBCURL");
    if (hidden && strcmp(hidden, "1") == 0) {
        snprintf(unavailable_reason, sizeof unavailable_reason, "ERRAND_HIDE_LIBCURL hides libcurl");
        return;
    }
    if (!find_library() || !resolve_all()) return;
    const curlrt_version *version = curl.version_info(version_now);
    if (version->number < oldest_version) {
        snprintf(unavailable_reason, sizeof unavailable_reason, "libcurl %s is older than 7.76", version->text);
        return;
    }
    is_usable = curl.global_init(global_all) == 0;
    if (!is_usable) snprintf(unavailable_reason, sizeof unavailable_reason, "curl_global_init failed");
    if (is_usable) atexit(stop_threads_at_exit);
}

const char *curlrt_unavailable(void) {
    pthread_once(&once, load);
    return is_usable ? NULL : unavailable_reason;
}

const curlrt_version *curlrt_library_version(void) {
    return curlrt_unavailable() ? NULL : curl.version_info(version_now);
}

const char *curlrt_error_text(int code) { return curl.easy_strerror(code); }

curlrt_easy *curlrt_easy_make(void) { return curl.easy_init(); }

void curlrt_easy_free(curlrt_easy *easy) { curl.easy_cleanup(easy); }

/// One function for each type of value: Swift cannot call a function with `...`.
#define SET(kind, type) \
    int curlrt_easy_set_##kind(curlrt_easy *easy, int option, type value) { return curl.easy_setopt(easy, option, value); }
SET(number, long)
SET(size, int64_t)
SET(pointer, const void *)
SET(transfer, curlrt_transfer_function)
SET(seek, curlrt_seek_function)
SET(prereq, curlrt_prereq_function)

int curlrt_easy_resume(curlrt_easy *easy) { return curl.easy_pause(easy, pause_cont); }

/// Returns the nanoseconds of the monotonic clock.
static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/// A datagram socket that is connected sends nothing.
static int has_route(const socket_address *address) {
    if (address->family != AF_INET && address->family != AF_INET6) return 1;
    const int descriptor = socket(address->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return 1;
    const int result = connect(descriptor, &address->address, address->length);
    close(descriptor);
    return result == 0;
}

static int open_socket(void *context, int purpose, socket_address *wanted) {
    (void)purpose;
    curlrt_connecting *connecting = context;
    if (connecting->step == curlrt_connecting_abandoned) return -1;
    connecting->step = curlrt_connecting_socket;
    if (connecting->socket_opened == 0) connecting->socket_opened = now();
    const int descriptor = socket(wanted->family, wanted->type | SOCK_CLOEXEC, wanted->protocol);
    connecting->descriptor = descriptor;
    connecting->addresses++;
    connecting->routes += has_route(wanted);
    if (descriptor >= 0 && connecting->sockets) curlrt_sockets_add(connecting->sockets, descriptor);
    return descriptor;
}

static int close_socket(void *context, int descriptor) { return curlrt_sockets_close(context, descriptor); }

/// How often libcurl reports progress in a turn without a byte from a proxy server, at most.
enum { calls_without_bytes = 64 };

/// Called after each byte of a proxy server's response to `CONNECT`, and a few times in each turn of the loop.
static int report_progress(void *context, int64_t to_receive, int64_t received, int64_t to_send, int64_t sent) {
    (void)to_receive, (void)received, (void)to_send, (void)sent;
    curlrt_connecting *connecting = context;
    if (connecting->step != curlrt_connecting_socket || !connecting->sockets) return 0;
    const uint64_t turn = curlrt_sockets_turn(connecting->sockets);
    if (connecting->counted_turn != turn) {
        connecting->counted_turn = turn;
        connecting->calls = 0;
    }
    if (++connecting->calls <= calls_without_bytes) return 0;
    return ++connecting->tunnel_bytes > curlrt_tunnel_limit;
}

static int start_handshake(curlrt_easy *easy, void *context, void *argument) {
    (void)easy, (void)context;
    curlrt_connecting *connecting = argument;
    connecting->tls_began = now();
    return 0;
}

static int start_resolver(void *resolver, void *reserved, void *context) {
    (void)resolver;
    (void)reserved;
    curlrt_connecting *connecting = context;
    if (connecting->step == curlrt_connecting_abandoned) return 1;
    // Over a SOCKS connection, libcurl looks up the target after it has opened the socket.
    if (connecting->step == curlrt_connecting_socket) return 0;
    connecting->step = curlrt_connecting_lookup;
    connecting->lookup_began = now();
    return 0;
}

void curlrt_easy_observe_connecting(curlrt_easy *easy, curlrt_connecting *connecting) {
    curl.easy_setopt(easy, option_opensocketdata, connecting);
    curl.easy_setopt(easy, option_opensocketfunction, open_socket);
    curl.easy_setopt(easy, option_resolver_start_data, connecting);
    curl.easy_setopt(easy, option_resolver_start_function, start_resolver);
    if (!connecting->sockets) return;
    // A connection keeps these two when `easy` is freed.
    curl.easy_setopt(easy, option_closesocketdata, connecting->sockets);
    curl.easy_setopt(easy, option_closesocketfunction, close_socket);
}

void curlrt_easy_observe_handshakes(curlrt_easy *easy, curlrt_connecting *connecting) {
    curl.easy_setopt(easy, option_ssl_ctx_data, connecting);
    curl.easy_setopt(easy, option_ssl_ctx_function, start_handshake);
}

void curlrt_easy_limit_tunnel(curlrt_easy *easy, curlrt_connecting *connecting) {
    curl.easy_setopt(easy, option_xferinfodata, connecting);
    curl.easy_setopt(easy, option_xferinfofunction, report_progress);
    curl.easy_setopt(easy, option_noprogress, 0L);
}

#define GET(kind, type, unknown) \
    type curlrt_easy_##kind(curlrt_easy *easy, int info) { \
        type value = unknown; \
        return curl.easy_getinfo(easy, info, &value) == 0 ? value : unknown; \
    }
GET(number, long, 0)
GET(size, int64_t, -1)
GET(text, const char *, NULL)

void *curlrt_easy_private(curlrt_easy *easy) {
    void *context = NULL;
    return curl.easy_getinfo(easy, info_private, &context) == 0 ? context : NULL;
}

enum { watched_descriptors = 4096 };

/// How often each round wakes libcurl. A pair of sockets that other threads use does not transfer just these numbers of bytes.
static const int wakeups_of_rounds[] = {5, 11, 3};

/// A descriptor that may be one of libcurl's wake-up pair: whether it still can be, and the bytes that the kernel accounts
/// for each byte that it sends.
typedef struct candidate {
    bool is_open;
    int accounted;
} candidate;

typedef candidate candidate_set[watched_descriptors];

/// Adds every open local socket that child processes would inherit.
static void find_inherited_pairs(candidate *found) {
    DIR *directory = opendir("/proc/self/fd");
    if (!directory) return;
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        int descriptor = atoi(entry->d_name), domain = 0;
        socklen_t length = sizeof domain;
        if (entry->d_name[0] == '.' || descriptor >= watched_descriptors) continue;
        if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 || domain != AF_UNIX) continue;
        found[descriptor].is_open = fcntl(descriptor, F_GETFD) == 0;
    }
    closedir(directory);
}

/// Returns whether a local socket has just received `wakeups` bytes, or has sent as many of the size measured before; for no
/// wakeups, whether it is empty.
static bool transfers(int descriptor, int wakeups, candidate *candidate) {
    int received = 0, sent = 0;
    ioctl(descriptor, FIONREAD, &received);
    ioctl(descriptor, TIOCOUTQ, &sent);
    if (received > 0 || sent == 0 || wakeups == 0) return received == wakeups && sent == 0;
    if (candidate->accounted == 0) candidate->accounted = sent / wakeups;
    return candidate->accounted > 0 && sent == candidate->accounted * wakeups;
}

static void keep_transferring(candidate *found, int wakeups) {
    for (int descriptor = 0; descriptor < watched_descriptors; descriptor++) {
        if (!found[descriptor].is_open) continue;
        found[descriptor].is_open = transfers(descriptor, wakeups, &found[descriptor]);
    }
}

/// Makes the wake-up pair of `multi` close-on-exec: of the sockets that are not in `others`, the two on which every
/// wake-up is measured. Sockets that other threads have opened meanwhile are not changed.
static void close_pair_on_exec(curlrt_multi *multi, const candidate *others) {
    candidate_set pair = {0};
    find_inherited_pairs(pair);
    for (int descriptor = 0; descriptor < watched_descriptors; descriptor++) {
        if (others[descriptor].is_open) pair[descriptor].is_open = false;
    }
    // Removes the wake-up of `make_wakeable_multi`.
    curl.multi_poll(multi, NULL, 0, 0, NULL);
    for (size_t round = 0; round < sizeof wakeups_of_rounds / sizeof *wakeups_of_rounds; round++) {
        for (int wakeup = 0; wakeup < wakeups_of_rounds[round]; wakeup++) curl.multi_wakeup(multi);
        keep_transferring(pair, wakeups_of_rounds[round]);
        curl.multi_poll(multi, NULL, 0, 0, NULL);
        keep_transferring(pair, 0);
    }
    for (int descriptor = 0; descriptor < watched_descriptors; descriptor++) {
        if (pair[descriptor].is_open) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    }
}

/// Returns `NULL` for a set without descriptors for wake-ups, which libcurl 7.88 does not report as a failure.
static curlrt_multi *make_wakeable_multi(void) {
    curlrt_multi *multi = curl.multi_init();
    if (!multi || curl.multi_wakeup(multi) == 0) return multi;
    curl.multi_cleanup(multi);
    return NULL;
}

/// Before 8.10, child processes inherit the pair of sockets that libcurl creates for its wake-ups.
curlrt_multi *curlrt_multi_make(void) {
    candidate_set others = {0};
    find_inherited_pairs(others);
    curlrt_multi *multi = make_wakeable_multi();
    if (multi) close_pair_on_exec(multi, others);
    return multi;
}

void curlrt_multi_free(curlrt_multi *multi) { curl.multi_cleanup(multi); }

int curlrt_multi_set_number(curlrt_multi *multi, int option, long value) {
    return curl.multi_setopt(multi, option, value);
}

int curlrt_multi_add(curlrt_multi *multi, curlrt_easy *easy) { return curl.multi_add_handle(multi, easy); }

int curlrt_multi_remove(curlrt_multi *multi, curlrt_easy *easy) { return curl.multi_remove_handle(multi, easy); }

int curlrt_multi_perform(curlrt_multi *multi) {
    int running = 0;
    return curl.multi_perform(multi, &running);
}

int curlrt_multi_wait(curlrt_multi *multi, int milliseconds) {
    return curl.multi_poll(multi, NULL, 0, milliseconds, NULL);
}

int curlrt_multi_wake(curlrt_multi *multi) { return curl.multi_wakeup(multi); }

curlrt_easy *curlrt_multi_next_finished(curlrt_multi *multi, int *code) {
    int left = 0;
    for (message *next = curl.multi_info_read(multi, &left); next; next = curl.multi_info_read(multi, &left)) {
        if (next->kind != message_done) continue;
        *code = next->result.code;
        return next->easy;
    }
    return NULL;
}

#endif
