#ifndef CURL_SOCKETS_H
#define CURL_SOCKETS_H

#if defined(__linux__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The sockets that the transfers of one set have open; used by the thread of the set and by a thread that watches it.
typedef struct curlrt_sockets curlrt_sockets;

/// Creates an empty set of sockets; returns `NULL` when there is no memory.
curlrt_sockets *curlrt_sockets_make(void);

/// Frees the set; no transfer and no connection may use it any more.
void curlrt_sockets_free(curlrt_sockets *sockets);

/// Counts a turn of the set's thread; called on that thread.
void curlrt_sockets_begin_turn(curlrt_sockets *sockets);

/// Returns how many turns there were; called on the set's thread.
uint64_t curlrt_sockets_turn(const curlrt_sockets *sockets);

/// Adds a socket that has just been created; its number replaces one that was closed without ``curlrt_sockets_close``.
void curlrt_sockets_add(curlrt_sockets *sockets, int descriptor);

/// Removes a socket, and closes it.
int curlrt_sockets_close(curlrt_sockets *sockets, int descriptor);

/// Returns the round-trip time of a connected TCP socket in microseconds, which the system has measured; -1 for any other.
int64_t curlrt_sockets_round_trip(curlrt_sockets *sockets, int descriptor);

/// What the system has done with the bytes that were written to a connection.
typedef struct curlrt_sending {
    /// For how many nanoseconds it has sent nothing, or received no acknowledgement.
    int64_t silence;
    /// The bytes that the peer has acknowledged.
    int64_t acknowledged;
    /// The bytes that it has not.
    int64_t queued;
} curlrt_sending;

/// Reads `*sending` of the connection with a local port; returns `false` if it is not known; called on the set's thread.
bool curlrt_sockets_sending(curlrt_sockets *sockets, int port, curlrt_sending *sending);

/// Returns whether nothing has arrived at the sockets with a local port, neither bytes nor an end nor a failure; called on the
/// set's thread.
bool curlrt_sockets_are_silent(curlrt_sockets *sockets, int port);

/// Forgets what has been measured.
void curlrt_sockets_begin_measuring(curlrt_sockets *sockets);

/// Measures the unread bytes of each socket: those that have become fewer since the last call were read by the set's thread.
void curlrt_sockets_measure(curlrt_sockets *sockets);

/// Shuts down the socket of which most bytes were read, if there were `bytes` in `reads` measurements; returns whether there was one.
///
/// Its number remains open, and its owner reads the end of the connection. A number that has another socket meanwhile is not touched.
bool curlrt_sockets_shut_down_most_read(curlrt_sockets *sockets, int64_t bytes, int reads);

#endif
#endif
