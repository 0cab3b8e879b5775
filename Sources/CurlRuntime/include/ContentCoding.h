#ifndef CONTENT_CODING_H
#define CONTENT_CODING_H

#if defined(__linux__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The content codings of HTTP that a library in the process can decode.
typedef enum {
    curlrt_gzip = 0,
    curlrt_deflate = 1,
    curlrt_brotli = 2,
    curlrt_zstd = 3,
} curlrt_coding;

/// The result of a step of decoding.
typedef enum {
    curlrt_decode_failed = -1,
    curlrt_decode_more = 0,
    curlrt_decode_ended = 1,
} curlrt_decode_result;

/// The state of one coded stream.
typedef struct curlrt_decoder curlrt_decoder;

/// Returns whether the library for `coding` is available; libcurl usually depends on it.
bool curlrt_coding_available(curlrt_coding coding);

/// Creates a decoder; returns `NULL` when the coding is not available or there is no memory.
curlrt_decoder *curlrt_decoder_make(curlrt_coding coding);

void curlrt_decoder_free(curlrt_decoder *decoder);

/// Decodes as much of `*input` as `output` has room for, and changes `*input`, `*count` and `*room` accordingly.
///
/// `*count` is greater than 0, or the last call filled its output. `curlrt_decode_ended` means that the coded stream is
/// complete; the next call begins the next one.
curlrt_decode_result curlrt_decode(
    curlrt_decoder *decoder, const uint8_t **input, size_t *count, uint8_t *output, size_t *room);

#endif
#endif
