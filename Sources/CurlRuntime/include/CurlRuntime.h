#ifndef CURL_RUNTIME_H
#define CURL_RUNTIME_H

#include "ContentCoding.h"
#include "CurlSockets.h"

#if defined(__linux__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A transfer handle of libcurl (`CURL`).
typedef struct curlrt_easy curlrt_easy;

/// A set of transfers that run together (`CURLM`).
typedef struct curlrt_multi curlrt_multi;

/// Receives bytes, or fills a buffer with bytes to send; returns a number of bytes.
typedef size_t (*curlrt_transfer_function)(char *bytes, size_t size, size_t count, void *context);

/// Moves to a position in the request's body; returns 0 on success, 1 to end the transfer.
typedef int (*curlrt_seek_function)(void *context, int64_t offset, int origin);

/// Called when a connection is ready, before the request is sent; returns 0 to continue, 1 to end the transfer.
typedef int (*curlrt_prereq_function)(void *context, char *remote, char *local, int remote_port, int local_port);

/// Loads libcurl once for the process; returns `NULL` when it is usable, otherwise the reason why it is not.
///
/// Called on any thread. `ERRAND_HIDE_LIBCURL=1` in the environment makes it unusable.
const char *curlrt_unavailable(void);

/// The first members of `curl_version_info_data`, which are the same in every version.
typedef struct curlrt_version {
    int age;
    const char *text;
    /// 0xXXYYZZ.
    unsigned int number;
    const char *host;
    /// The bits `CURL_VERSION_*`.
    int features;
    /// The name and the version of the library for TLS; `NULL` without one.
    const char *tls_library;
} curlrt_version;

/// Returns the version of libcurl; `NULL` when it is not usable.
const curlrt_version *curlrt_library_version(void);

/// Returns libcurl's message for a result code.
const char *curlrt_error_text(int code);

/// Begins work with libcurl; does not return once the process is exiting.
void curlrt_enter(void);

/// Ends work with libcurl; the exit of the process waits for this, 300 ms at most.
void curlrt_leave(void);

curlrt_easy *curlrt_easy_make(void);
void curlrt_easy_free(curlrt_easy *easy);
int curlrt_easy_set_number(curlrt_easy *easy, int option, long value);
int curlrt_easy_set_size(curlrt_easy *easy, int option, int64_t value);
int curlrt_easy_set_pointer(curlrt_easy *easy, int option, const void *value);
int curlrt_easy_set_transfer(curlrt_easy *easy, int option, curlrt_transfer_function function);
int curlrt_easy_set_seek(curlrt_easy *easy, int option, curlrt_seek_function function);
int curlrt_easy_set_prereq(curlrt_easy *easy, int option, curlrt_prereq_function function);

/// Continues a paused transfer; calls its write function at once when libcurl has stored bytes for it.
int curlrt_easy_resume(curlrt_easy *easy);

enum {
    /// The transfer's last step to connect was the start of a name lookup.
    curlrt_connecting_lookup = 1,
    /// The transfer's last step to connect was a socket.
    curlrt_connecting_socket = 2,
    /// Set by the caller: the transfer may not continue to connect.
    curlrt_connecting_abandoned = 3,
};

/// The steps of a transfer to connect, with their instants in nanoseconds of the monotonic clock; 0 for those before.
typedef struct curlrt_connecting {
    /// The last step; 0 before the first one, and when a connection is ready.
    uint8_t step;
    /// The start of the last name lookup.
    int64_t lookup_began;
    /// The first socket.
    int64_t socket_opened;
    /// The last start of a TLS handshake, where ``curlrt_easy_observe_handshakes`` has been called.
    int64_t tls_began;
    /// The last socket; -1 before the first one.
    int descriptor;
    /// The sockets to which those of the transfer are added; `NULL` for none.
    curlrt_sockets *sockets;
    /// The turn of `sockets` in which `calls` are counted.
    uint64_t counted_turn;
    /// How often libcurl has reported progress in that turn.
    int64_t calls;
    /// The bytes of a proxy server's response to `CONNECT` that were read, about.
    int64_t tunnel_bytes;
    /// How many sockets were opened, one for each address.
    int32_t addresses;
    /// To how many of these addresses the system has a route.
    int32_t routes;
} curlrt_connecting;

/// Changes `*connecting` whenever `easy` starts a name lookup or opens a socket, and makes its sockets close-on-exec.
///
/// `connecting` must stay valid until `easy` is freed, its `sockets` until the connections of `easy` are closed.
void curlrt_easy_observe_connecting(curlrt_easy *easy, curlrt_connecting *connecting);

/// Changes `*connecting` whenever `easy` starts a TLS handshake, if its library for TLS reports that.
///
/// Since 8.11, libcurl then loads the certificates before the handshake and not during it.
void curlrt_easy_observe_handshakes(curlrt_easy *easy, curlrt_connecting *connecting);

/// Ends a transfer of `easy` for which a proxy server sends more than ``curlrt_tunnel_limit`` bytes before the connection is ready.
///
/// libcurl reads them one by one, without an end, and reports progress after each.
void curlrt_easy_limit_tunnel(curlrt_easy *easy, curlrt_connecting *connecting);

enum {
    /// The most bytes that a proxy server may send as its response to `CONNECT`.
    curlrt_tunnel_limit = 65536,
};

/// Returns a number that libcurl reports for a transfer (`CURLINFO`); 0 when it does not.
long curlrt_easy_number(curlrt_easy *easy, int info);

/// Returns a time in microseconds, a number of bytes or an identifier that libcurl reports for a transfer (`CURLINFO` of the type
/// `curl_off_t`); -1 when it does not.
int64_t curlrt_easy_size(curlrt_easy *easy, int info);

/// Returns text that libcurl reports for a transfer, valid until its end; `NULL` when it does not.
const char *curlrt_easy_text(curlrt_easy *easy, int info);

/// Returns the value of `CURLOPT_PRIVATE`.
void *curlrt_easy_private(curlrt_easy *easy);

/// Creates a set, for one thread except for ``curlrt_multi_wake``; returns `NULL` when there is no memory or no descriptor.
curlrt_multi *curlrt_multi_make(void);

/// Frees a set that is empty, and closes its connections.
void curlrt_multi_free(curlrt_multi *multi);

int curlrt_multi_set_number(curlrt_multi *multi, int option, long value);
int curlrt_multi_add(curlrt_multi *multi, curlrt_easy *easy);

/// Closes the connection of a transfer that is not finished, or resets its stream.
int curlrt_multi_remove(curlrt_multi *multi, curlrt_easy *easy);

/// Transfers every byte that can be transferred without waiting.
int curlrt_multi_perform(curlrt_multi *multi);

/// Waits for a socket, a timer, `milliseconds` or ``curlrt_multi_wake``.
int curlrt_multi_wait(curlrt_multi *multi, int milliseconds);

/// Ends ``curlrt_multi_wait``; called on any thread.
int curlrt_multi_wake(curlrt_multi *multi);

/// Removes the next finished transfer, and returns it with its result code; `NULL` when there is none.
curlrt_easy *curlrt_multi_next_finished(curlrt_multi *multi, int *code);

#endif
#endif
