// The sockets of a set of transfers, of which a watching thread shuts one down that does not let libcurl return.
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "CurlSockets.h"

#if defined(__linux__)

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct open_socket {
    int descriptor;
    /// Distinguishes the socket from a later one of the same number: some versions of libcurl close a socket that has not been
    /// connected without the function for it.
    ino_t identity;
    /// 0 until it is asked for after the socket has got one.
    int local_port;
    int unread;
    int reads;
    int64_t bytes_read;
    bool is_shut_down;
} open_socket;

struct curlrt_sockets {
    /// Locked while a number of `all` is used by the watching thread, and before libcurl's thread closes one.
    pthread_mutex_t lock;
    open_socket *all;
    size_t count;
    size_t room;
    /// Used only on libcurl's thread.
    uint64_t turn;
};

curlrt_sockets *curlrt_sockets_make(void) {
    curlrt_sockets *sockets = calloc(1, sizeof *sockets);
    if (sockets) pthread_mutex_init(&sockets->lock, NULL);
    return sockets;
}

void curlrt_sockets_free(curlrt_sockets *sockets) {
    pthread_mutex_destroy(&sockets->lock);
    free(sockets->all);
    free(sockets);
}

void curlrt_sockets_begin_turn(curlrt_sockets *sockets) { sockets->turn++; }

uint64_t curlrt_sockets_turn(const curlrt_sockets *sockets) { return sockets->turn; }

/// Returns the number of the open file behind a socket; 0 for anything else.
static ino_t identity_of(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

static void remove_descriptor(curlrt_sockets *sockets, int descriptor) {
    for (size_t index = 0; index < sockets->count; index++) {
        if (sockets->all[index].descriptor != descriptor) continue;
        sockets->all[index] = sockets->all[--sockets->count];
        return;
    }
}

static bool has_room(curlrt_sockets *sockets) {
    if (sockets->count < sockets->room) return true;
    size_t room = sockets->room * 2 + 8;
    open_socket *all = realloc(sockets->all, room * sizeof *all);
    if (!all) return false;
    sockets->all = all;
    sockets->room = room;
    return true;
}

void curlrt_sockets_add(curlrt_sockets *sockets, int descriptor) {
    open_socket added = {.descriptor = descriptor, .identity = identity_of(descriptor)};
    if (added.identity == 0) return;
    pthread_mutex_lock(&sockets->lock);
    remove_descriptor(sockets, descriptor);
    if (has_room(sockets)) sockets->all[sockets->count++] = added;
    pthread_mutex_unlock(&sockets->lock);
}

int curlrt_sockets_close(curlrt_sockets *sockets, int descriptor) {
    pthread_mutex_lock(&sockets->lock);
    remove_descriptor(sockets, descriptor);
    pthread_mutex_unlock(&sockets->lock);
    return close(descriptor);
}

static int local_port(int descriptor) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &length) != 0) return 0;
    if (address.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&address)->sin_port);
    if (address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return 0;
}

bool curlrt_sockets_are_silent(curlrt_sockets *sockets, int port) {
    // As of local sockets, which cannot be told apart.
    if (port <= 0) return true;
    for (size_t index = 0; index < sockets->count; index++) {
        open_socket *socket = &sockets->all[index];
        char byte;
        if (socket->local_port == 0) socket->local_port = local_port(socket->descriptor);
        if (socket->local_port != port) continue;
        if (recv(socket->descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0) return false;
        if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    }
    return true;
}

/// `struct tcp_info`, of which glibc does not declare all.
typedef union tcp_state {
    struct tcp_info info;
    /// That of index 15 is `tcpi_bytes_acked`, since Linux 4.1.
    int64_t words[64];
} tcp_state;

bool curlrt_sockets_sending(curlrt_sockets *sockets, int port, curlrt_sending *sending) {
    for (size_t index = 0; port > 0 && index < sockets->count; index++) {
        open_socket *socket = &sockets->all[index];
        tcp_state state = {.words = {0}};
        socklen_t length = sizeof state;
        int queued = 0;
        if (socket->local_port == 0) socket->local_port = local_port(socket->descriptor);
        if (socket->local_port != port) continue;
        if (getsockopt(socket->descriptor, IPPROTO_TCP, TCP_INFO, &state, &length) != 0) return false;
        if (ioctl(socket->descriptor, TIOCOUTQ, &queued) != 0) return false;
        const uint32_t sent = state.info.tcpi_last_data_sent, acknowledged = state.info.tcpi_last_ack_recv;
        // A peer that has vanished acknowledges nothing of what is sent again; one that reads nothing is sent nothing.
        sending->silence = (int64_t)(sent > acknowledged ? sent : acknowledged) * 1000000;
        sending->acknowledged = state.words[15];
        sending->queued = queued;
        return true;
    }
    return false;
}

static int64_t round_trip(int descriptor) {
    struct tcp_info info = {0};
    socklen_t length = sizeof info;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -1;
    return info.tcpi_state == TCP_SYN_SENT || info.tcpi_state == TCP_CLOSE ? -1 : info.tcpi_rtt;
}

int64_t curlrt_sockets_round_trip(curlrt_sockets *sockets, int descriptor) {
    int64_t time = -1;
    pthread_mutex_lock(&sockets->lock);
    for (size_t index = 0; index < sockets->count; index++) {
        if (sockets->all[index].descriptor != descriptor) continue;
        if (identity_of(descriptor) == sockets->all[index].identity) time = round_trip(descriptor);
    }
    pthread_mutex_unlock(&sockets->lock);
    return time;
}

/// Returns -1 for a socket that has been closed, or that has nothing to measure.
static int unread_bytes(const open_socket *socket) {
    int bytes = 0;
    if (identity_of(socket->descriptor) != socket->identity) return -1;
    return ioctl(socket->descriptor, FIONREAD, &bytes) == 0 ? bytes : -1;
}

void curlrt_sockets_begin_measuring(curlrt_sockets *sockets) {
    pthread_mutex_lock(&sockets->lock);
    for (size_t index = 0; index < sockets->count; index++) {
        open_socket *socket = &sockets->all[index];
        socket->unread = unread_bytes(socket);
        socket->reads = 0;
        socket->bytes_read = 0;
    }
    pthread_mutex_unlock(&sockets->lock);
}

void curlrt_sockets_measure(curlrt_sockets *sockets) {
    pthread_mutex_lock(&sockets->lock);
    for (size_t index = 0; index < sockets->count; index++) {
        open_socket *socket = &sockets->all[index];
        const int unread = unread_bytes(socket);
        if (unread >= 0 && unread < socket->unread) {
            socket->reads++;
            socket->bytes_read += socket->unread - unread;
        }
        socket->unread = unread;
    }
    pthread_mutex_unlock(&sockets->lock);
}

/// Shuts a socket down through a duplicate, whose identity cannot change between the check and the call.
static bool shut_down(open_socket *socket) {
    if (identity_of(socket->descriptor) != socket->identity) return false;
    const int duplicate = fcntl(socket->descriptor, F_DUPFD_CLOEXEC, 0);
    if (duplicate < 0) return false;
    socket->is_shut_down = identity_of(duplicate) == socket->identity && shutdown(duplicate, SHUT_RDWR) == 0;
    close(duplicate);
    return socket->is_shut_down;
}

bool curlrt_sockets_shut_down_most_read(curlrt_sockets *sockets, int64_t bytes, int reads) {
    open_socket *most = NULL;
    pthread_mutex_lock(&sockets->lock);
    for (size_t index = 0; index < sockets->count; index++) {
        open_socket *socket = &sockets->all[index];
        if (socket->is_shut_down || socket->reads < reads || socket->bytes_read < bytes) continue;
        if (!most || socket->bytes_read > most->bytes_read) most = socket;
    }
    const bool is_done = most && shut_down(most);
    pthread_mutex_unlock(&sockets->lock);
    return is_done;
}

#endif
