#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "ContentCoding.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/// `z_stream` of zlib.
typedef struct zlib_stream {
    const uint8_t *input;
    unsigned int input_count;
    unsigned long input_total;
    uint8_t *output;
    unsigned int output_room;
    unsigned long output_total;
    const char *message;
    void *state;
    void *allocate;
    void *deallocate;
    void *opaque;
    int data_type;
    unsigned long checksum;
    unsigned long reserved;
} zlib_stream;

/// `ZSTD_inBuffer` and `ZSTD_outBuffer`, which are alike.
typedef struct zstd_buffer {
    const void *bytes;
    size_t size;
    size_t position;
} zstd_buffer;

enum {
    zlib_ok = 0,
    zlib_end = 1,
    zlib_no_progress = -5,
    window_bits = 15,
    gzip_window_bits = 15 + 16,
    brotli_error = 0,
    brotli_success = 1,
    zstd_window_log_max = 100,
    zstd_window_log = 23,
};

static struct {
    int (*inflate_init)(zlib_stream *, int, const char *, int);
    int (*inflate)(zlib_stream *, int);
    int (*inflate_reset)(zlib_stream *);
    int (*inflate_end)(zlib_stream *);
    bool is_available;
} zlib;

static struct {
    void *(*make)(void *, void *, void *);
    int (*decode)(void *, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *);
    void (*free)(void *);
    bool is_available;
} brotli;

static struct {
    void *(*make)(void);
    size_t (*decode)(void *, zstd_buffer *, zstd_buffer *);
    size_t (*set_parameter)(void *, int, int);
    unsigned int (*is_error)(size_t);
    size_t (*free)(void *);
    bool is_available;
} zstd;

struct curlrt_decoder {
    curlrt_coding coding;
    bool has_started;
    zlib_stream zlib;
    void *state;
};

static bool resolve(void *library, void *slot, const char *name) {
    void *symbol = dlsym(library, name);
    memcpy(slot, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void *library(const char *symbol, const char *file) {
    return dlsym(RTLD_DEFAULT, symbol) ? RTLD_DEFAULT : dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

static void load(void) {
    void *from = library("inflateInit2_", "libz.so.1");
    zlib.is_available = resolve(from, &zlib.inflate_init, "inflateInit2_")
        && resolve(from, &zlib.inflate, "inflate")
        && resolve(from, &zlib.inflate_reset, "inflateReset")
        && resolve(from, &zlib.inflate_end, "inflateEnd");
    from = library("BrotliDecoderCreateInstance", "libbrotlidec.so.1");
    brotli.is_available = resolve(from, &brotli.make, "BrotliDecoderCreateInstance")
        && resolve(from, &brotli.decode, "BrotliDecoderDecompressStream")
        && resolve(from, &brotli.free, "BrotliDecoderDestroyInstance");
    from = library("ZSTD_createDStream", "libzstd.so.1");
    zstd.is_available = resolve(from, &zstd.make, "ZSTD_createDStream")
        && resolve(from, &zstd.decode, "ZSTD_decompressStream")
        && resolve(from, &zstd.set_parameter, "ZSTD_DCtx_setParameter")
        && resolve(from, &zstd.is_error, "ZSTD_isError")
        && resolve(from, &zstd.free, "ZSTD_freeDStream");
}

bool curlrt_coding_available(curlrt_coding coding) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    switch (coding) {
        case curlrt_gzip:
        case curlrt_deflate: return zlib.is_available;
        case curlrt_brotli: return brotli.is_available;
        case curlrt_zstd: return zstd.is_available;
    }
    return false;
}

/// HTTP allows windows of 8 MiB (RFC 9659); the default limit of libzstd is 128 MiB.
static void *make_zstd(void) {
    void *state = zstd.make();
    if (state) zstd.set_parameter(state, zstd_window_log_max, zstd_window_log);
    return state;
}

curlrt_decoder *curlrt_decoder_make(curlrt_coding coding) {
    if (!curlrt_coding_available(coding)) return NULL;
    curlrt_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) return NULL;
    decoder->coding = coding;
    if (coding == curlrt_brotli) decoder->state = brotli.make(NULL, NULL, NULL);
    if (coding == curlrt_zstd) decoder->state = make_zstd();
    if (decoder->state || coding == curlrt_gzip || coding == curlrt_deflate) return decoder;
    free(decoder);
    return NULL;
}

void curlrt_decoder_free(curlrt_decoder *decoder) {
    if (decoder->coding == curlrt_brotli) brotli.free(decoder->state);
    else if (decoder->coding == curlrt_zstd) zstd.free(decoder->state);
    else if (decoder->has_started) zlib.inflate_end(&decoder->zlib);
    free(decoder);
}

static bool start_zlib(curlrt_decoder *decoder, const uint8_t *input) {
    if (decoder->has_started) return true;
    // Servers send "deflate" with the two bytes of zlib's header, as RFC 9110 requires, or without them.
    const bool has_header = (*input & 0x0F) == 8 && *input >> 4 <= 7;
    const int deflate_bits = has_header ? window_bits : -window_bits;
    const int bits = decoder->coding == curlrt_gzip ? gzip_window_bits : deflate_bits;
    decoder->has_started = zlib.inflate_init(&decoder->zlib, bits, "1.2.11", (int)sizeof(zlib_stream)) == zlib_ok;
    return decoder->has_started;
}

static curlrt_decode_result decode_zlib(
    curlrt_decoder *decoder, const uint8_t **input, size_t *count, uint8_t *output, size_t *room) {
    if (!start_zlib(decoder, *input)) return curlrt_decode_failed;
    zlib_stream *stream = &decoder->zlib;
    stream->input = *input;
    stream->input_count = (unsigned int)*count;
    stream->output = output;
    stream->output_room = (unsigned int)*room;
    int result = zlib.inflate(stream, 0);
    *input = stream->input;
    *count = stream->input_count;
    *room = stream->output_room;
    if (result == zlib_ok || result == zlib_no_progress) return curlrt_decode_more;
    if (result != zlib_end || zlib.inflate_reset(stream) != zlib_ok) return curlrt_decode_failed;
    return curlrt_decode_ended;
}

static curlrt_decode_result decode_brotli(
    curlrt_decoder *decoder, const uint8_t **input, size_t *count, uint8_t *output, size_t *room) {
    int result = brotli.decode(decoder->state, count, input, room, &output, NULL);
    if (result == brotli_error) return curlrt_decode_failed;
    return result == brotli_success ? curlrt_decode_ended : curlrt_decode_more;
}

static curlrt_decode_result decode_zstd(
    curlrt_decoder *decoder, const uint8_t **input, size_t *count, uint8_t *output, size_t *room) {
    zstd_buffer from = {.bytes = *input, .size = *count};
    zstd_buffer into = {.bytes = output, .size = *room};
    size_t result = zstd.decode(decoder->state, &into, &from);
    *input += from.position;
    *count -= from.position;
    *room -= into.position;
    if (zstd.is_error(result)) return curlrt_decode_failed;
    return result == 0 ? curlrt_decode_ended : curlrt_decode_more;
}

curlrt_decode_result curlrt_decode(
    curlrt_decoder *decoder, const uint8_t **input, size_t *count, uint8_t *output, size_t *room) {
    switch (decoder->coding) {
        case curlrt_brotli: return decode_brotli(decoder, input, count, output, room);
        case curlrt_zstd: return decode_zstd(decoder, input, count, output, room);
        default: return decode_zlib(decoder, input, count, output, room);
    }
}

#endif
