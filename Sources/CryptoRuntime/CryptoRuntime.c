#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "CryptoRuntime.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    digest_count = 4,
    cipher_count = 4,
    set_nonce_length = 0x9,
    get_tag = 0x10,
    set_tag = 0x11,
    opening = 0,
    sealing = 1,
    largest_step = 1 << 30,
    version_text = 0,
};

/// The types of OpenSSL of which only the address is used.
typedef struct digest_type digest_type;
typedef struct cipher_type cipher_type;
typedef struct digest_context digest_context;
typedef struct hmac_context hmac_context;
typedef struct cipher_context cipher_context;

/// The functions that are used: result, member of the library, parameters, and name in OpenSSL.
#define FUNCTIONS(X) \
    X(unsigned long, version_number, (void), OpenSSL_version_num) \
    X(const char *, version, (int), OpenSSL_version) \
    X(digest_context *, digest_make, (void), EVP_MD_CTX_new) \
    X(void, digest_free, (digest_context *), EVP_MD_CTX_free) \
    X(int, digest_start, (digest_context *, const digest_type *, void *), EVP_DigestInit_ex) \
    X(int, digest_update, (digest_context *, const void *, size_t), EVP_DigestUpdate) \
    X(int, digest_finish, (digest_context *, uint8_t *, unsigned int *), EVP_DigestFinal_ex) \
    X(hmac_context *, hmac_make, (void), HMAC_CTX_new) \
    X(void, hmac_free, (hmac_context *), HMAC_CTX_free) \
    X(int, hmac_start, (hmac_context *, const void *, int, const digest_type *, void *), HMAC_Init_ex) \
    X(int, hmac_update, (hmac_context *, const uint8_t *, size_t), HMAC_Update) \
    X(int, hmac_finish, (hmac_context *, uint8_t *, unsigned int *), HMAC_Final) \
    X(cipher_context *, context_make, (void), EVP_CIPHER_CTX_new) \
    X(void, context_free, (cipher_context *), EVP_CIPHER_CTX_free) \
    X(int, context_control, (cipher_context *, int, int, void *), EVP_CIPHER_CTX_ctrl) \
    X(int, cipher_start, (cipher_context *, const cipher_type *, void *, const uint8_t *, const uint8_t *, int), \
      EVP_CipherInit_ex) \
    X(int, cipher_update, (cipher_context *, uint8_t *, int *, const uint8_t *, int), EVP_CipherUpdate) \
    X(int, cipher_finish, (cipher_context *, uint8_t *, int *), EVP_CipherFinal_ex) \
    X(void, clear_errors, (void), ERR_clear_error)

struct cryptort_library {
#define MEMBER(result, member, parameters, name) result(*member) parameters;
    FUNCTIONS(MEMBER)
    const digest_type *digests[digest_count];
    const cipher_type *ciphers[cipher_count];
};

/// The names for `EVP_MD_fetch` and `EVP_CIPHER_fetch` of OpenSSL 3, and the functions of OpenSSL 1.1.1.
static const struct {
    const char *name;
    const char *function;
} digest_names[digest_count] = {{"MD5", "EVP_md5"}, {"SHA1", "EVP_sha1"}, {"SHA256", "EVP_sha256"}, {"SHA512", "EVP_sha512"}},
  cipher_names[cipher_count] = {
    {"AES-128-GCM", "EVP_aes_128_gcm"},
    {"AES-192-GCM", "EVP_aes_192_gcm"},
    {"AES-256-GCM", "EVP_aes_256_gcm"},
    {"ChaCha20-Poly1305", "EVP_chacha20_poly1305"},
};

static atomic_bool is_exiting = false;
static atomic_int working = 0;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

/// Stops working threads. Runs before the cleanup of OpenSSL, which frees memory that they read.
static void stop_threads_at_exit(void) {
    const struct timespec millisecond = {.tv_nsec = 1000000};
    atomic_store(&is_exiting, true);
    for (int tries = 0; tries < 300 && atomic_load(&working) > 0; tries++) nanosleep(&millisecond, NULL);
}

static void register_exit(void) { atexit(stop_threads_at_exit); }

static void enter(void) {
    atomic_fetch_add(&working, 1);
    if (!atomic_load(&is_exiting)) return;
    atomic_fetch_sub(&working, 1);
    for (;;) pause();
}

static void leave(void) { atomic_fetch_sub(&working, 1); }

/// Where the functions of a library are looked up, and where a failure is described.
typedef struct search {
    void *handle;
    const char *name;
    char *reason;
    size_t room;
} search;

static bool resolve(const search *search, void *slot, const char *name) {
    void *symbol = dlsym(search->handle, name);
    memcpy(slot, &symbol, sizeof symbol);
    if (!symbol) snprintf(search->reason, search->room, "%s has no %s", search->name, name);
    return symbol != NULL;
}

static bool resolve_all(const search *search, cryptort_library *library) {
#define AND_RESOLVE(result, member, parameters, name) && resolve(search, &library->member, #name)
    return true FUNCTIONS(AND_RESOLVE);
}

/// Returns an algorithm, or `NULL` where it is missing.
///
/// The functions of OpenSSL 1.1.1 exist in OpenSSL 3 as well, but what they return is looked up again at every use.
static const void *algorithm(void *handle, const char *fetch_name, const char *name, const char *function) {
    void *(*fetch)(void *, const char *, const char *) = NULL;
    const void *(*make)(void) = NULL;
    void *symbol = dlsym(handle, fetch_name);
    memcpy(&fetch, &symbol, sizeof symbol);
    if (fetch) return fetch(NULL, name, NULL);
    symbol = dlsym(handle, function);
    memcpy(&make, &symbol, sizeof symbol);
    return make ? make() : NULL;
}

static void find_algorithms(void *handle, cryptort_library *library) {
    for (int index = 0; index < digest_count; index++) {
        library->digests[index] =
            algorithm(handle, "EVP_MD_fetch", digest_names[index].name, digest_names[index].function);
    }
    for (int index = 0; index < cipher_count; index++) {
        library->ciphers[index] =
            algorithm(handle, "EVP_CIPHER_fetch", cipher_names[index].name, cipher_names[index].function);
    }
    library->clear_errors();
}

/// Sets the handle and the name of the library that the process has loaded, or of one that can be loaded.
static bool find_library(search *search, const char *const *names, size_t count) {
    for (size_t attempt = 0; attempt < 2 * count; attempt++) {
        search->name = names[attempt % count];
        search->handle = dlopen(search->name, RTLD_NOW | RTLD_LOCAL | (attempt < count ? RTLD_NOLOAD : 0));
        if (search->handle) return true;
    }
    size_t written = (size_t)snprintf(search->reason, search->room, "no libcrypto of OpenSSL; searched for");
    for (size_t index = 0; index < count && written < search->room; index++) {
        const char *separator = index == 0 ? "" : ",";
        written += (size_t)snprintf(
            search->reason + written, search->room - written, "%s %s", separator, names[index]);
    }
    return false;
}

cryptort_library *cryptort_load(
    const char *const *names, size_t count, unsigned long oldest_version, char *reason, size_t room) {
    search search = {.reason = reason, .room = room};
    if (!find_library(&search, names, count)) return NULL;
    cryptort_library found = {0};
    if (!resolve_all(&search, &found)) return NULL;
    if (found.version_number() < oldest_version) {
        snprintf(reason, room, "%s is %s, which is too old: 1.1.1 is required", search.name, found.version(version_text));
        return NULL;
    }
    find_algorithms(search.handle, &found);
    // After OpenSSL has registered its cleanup, so that this runs before it.
    pthread_once(&exit_once, register_exit);
    cryptort_library *library = malloc(sizeof found);
    if (library) *library = found;
    return library;
}

const char *cryptort_version(const cryptort_library *library) { return library->version(version_text); }

/// Ends work with a library; what it has stored about a failure would stay on this thread.
static cryptort_result finish(const cryptort_library *library, cryptort_result result) {
    if (result != cryptort_success) library->clear_errors();
    leave();
    return result;
}

static cryptort_result finish_call(const cryptort_library *library, bool succeeded) {
    return finish(library, succeeded ? cryptort_success : cryptort_failed);
}

cryptort_result cryptort_hash_start(
    const cryptort_library *library, cryptort_digest digest, cryptort_running_hash **hash) {
    const digest_type *type = library->digests[digest];
    if (!type) return cryptort_unavailable;
    enter();
    digest_context *context = library->digest_make();
    bool succeeded = context && library->digest_start(context, type, NULL) == 1;
    if (!succeeded && context) library->digest_free(context);
    *hash = succeeded ? (cryptort_running_hash *)context : NULL;
    return finish_call(library, succeeded);
}

cryptort_result cryptort_hash_add(
    const cryptort_library *library, cryptort_running_hash *hash, cryptort_bytes input) {
    enter();
    return finish_call(
        library, input.count == 0 || library->digest_update((digest_context *)hash, input.start, input.count) == 1);
}

cryptort_result cryptort_hash_finish(
    const cryptort_library *library, cryptort_running_hash *hash, uint8_t *output) {
    enter();
    return finish_call(library, library->digest_finish((digest_context *)hash, output, NULL) == 1);
}

void cryptort_hash_free(const cryptort_library *library, cryptort_running_hash *hash) {
    enter();
    library->digest_free((digest_context *)hash);
    leave();
}

cryptort_result cryptort_hmac_sha256(
    const cryptort_library *library, cryptort_bytes key, cryptort_bytes input, uint8_t *output) {
    const digest_type *type = library->digests[cryptort_sha256];
    if (!type) return cryptort_unavailable;
    if (key.count > INT_MAX) return cryptort_failed;
    enter();
    hmac_context *context = library->hmac_make();
    // Without an address, the key of an earlier use would be taken.
    bool succeeded = context && library->hmac_start(context, key.count ? key.start : output, (int)key.count, type, NULL) == 1
        && (input.count == 0 || library->hmac_update(context, input.start, input.count) == 1)
        && library->hmac_finish(context, output, NULL) == 1;
    if (context) library->hmac_free(context);
    return finish_call(library, succeeded);
}

/// Processes `input` in steps whose length an `int` can hold; without an output it is associated data.
static bool update(const cryptort_library *library, cipher_context *context, cryptort_bytes input, uint8_t *output) {
    int written = 0;
    for (size_t done = 0; done < input.count;) {
        size_t left = input.count - done;
        int step = left < largest_step ? (int)left : largest_step;
        if (library->cipher_update(context, output ? output + done : NULL, &written, input.start + done, step) != 1) {
            return false;
        }
        done += (size_t)step;
    }
    return true;
}

static cryptort_result start(
    const cryptort_library *library, cipher_context *context, cryptort_cipher cipher, const uint8_t *key,
    cryptort_bytes nonce, int direction) {
    if (library->cipher_start(context, library->ciphers[cipher], NULL, NULL, NULL, direction) != 1) return cryptort_failed;
    bool has_length = nonce.count > 0 && nonce.count <= INT_MAX
        && library->context_control(context, set_nonce_length, (int)nonce.count, NULL) == 1;
    if (!has_length) return cryptort_bad_nonce;
    return library->cipher_start(context, NULL, NULL, key, nonce.start, direction) == 1 ? cryptort_success
                                                                                        : cryptort_failed;
}

static cryptort_result seal(
    const cryptort_library *library, cipher_context *context, cryptort_bytes associated, cryptort_bytes input,
    uint8_t *tag, uint8_t *output) {
    int written = 0;
    bool succeeded = update(library, context, associated, NULL) && update(library, context, input, output)
        && library->cipher_finish(context, tag, &written) == 1
        && library->context_control(context, get_tag, cryptort_tag_count, tag) == 1;
    return succeeded ? cryptort_success : cryptort_failed;
}

static cryptort_result open_sealed(
    const cryptort_library *library, cipher_context *context, cryptort_bytes associated, cryptort_bytes input,
    uint8_t *tag, uint8_t *output) {
    uint8_t rest[cryptort_tag_count];
    int written = 0;
    bool succeeded = library->context_control(context, set_tag, cryptort_tag_count, tag) == 1
        && update(library, context, associated, NULL) && update(library, context, input, output);
    if (!succeeded) return cryptort_failed;
    return library->cipher_finish(context, rest, &written) == 1 ? cryptort_success : cryptort_not_authentic;
}

static cryptort_result process(
    const cryptort_library *library, cryptort_cipher cipher, int direction, const uint8_t *key, cryptort_bytes nonce,
    cryptort_bytes associated, cryptort_bytes input, uint8_t *tag, uint8_t *output) {
    if (!library->ciphers[cipher]) return cryptort_unavailable;
    enter();
    cipher_context *context = library->context_make();
    cryptort_result result = context ? start(library, context, cipher, key, nonce, direction) : cryptort_failed;
    if (result == cryptort_success) {
        result = (direction == sealing ? seal : open_sealed)(library, context, associated, input, tag, output);
    }
    if (context) library->context_free(context);
    return finish(library, result);
}

cryptort_result cryptort_seal(
    const cryptort_library *library, cryptort_cipher cipher, const uint8_t *key, cryptort_bytes nonce,
    cryptort_bytes associated, cryptort_bytes input, uint8_t *output) {
    return process(library, cipher, sealing, key, nonce, associated, input, output + input.count, output);
}

cryptort_result cryptort_open(
    const cryptort_library *library, cryptort_cipher cipher, const uint8_t *key, cryptort_bytes nonce,
    cryptort_bytes associated, cryptort_bytes input, const uint8_t *tag, uint8_t *output) {
    uint8_t expected[cryptort_tag_count];
    memcpy(expected, tag, sizeof expected);
    return process(library, cipher, opening, key, nonce, associated, input, expected, output);
}

#endif
