#ifndef CONTENT_CODING_H
#define CONTENT_CODING_H

#if defined(__linux__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The content codings of HTTP that a library in the process can undo.
typedef enum {
    curlrt_gzip = 0,
    curlrt_deflate = 1,
    curlrt_brotli = 2,
    curlrt_zstd = 3,
} curlrt_coding;

/// What a step of decoding came to.
typedef enum {
    curlrt_decode_failed = -1,
    curlrt_decode_more = 0,
    curlrt_decode_ended = 1,
} curlrt_decode_result;

/// The state of one coded stream.
typedef struct curlrt_decoder curlrt_decoder;

/// Whether the library for `coding` is there; libcurl has brought it along, as a rule.
bool curlrt_coding_available(curlrt_coding coding);

/// Makes a decoder; `NULL` when the coding is not available or there is no memory.
curlrt_decoder *curlrt_decoder_make(curlrt_coding coding);

void curlrt_decoder_free(curlrt_decoder *decoder);

/// Decodes as much of `*input` as `output` has room for, and moves `*input`, `*count` and `*room` accordingly.
///
/// `*count` is above 0, or the call before filled its output. `curlrt_decode_ended` means that the coded stream is
/// complete; a call after that begins the next one.
curlrt_decode_result curlrt_decode(
    curlrt_decoder *decoder, const uint8_t **input, size_t *count, uint8_t *output, size_t *room);

#endif
#endif
