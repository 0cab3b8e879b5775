#ifndef CRYPTO_RUNTIME_H
#define CRYPTO_RUNTIME_H

#if defined(__linux__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// libcrypto of OpenSSL with the functions that are used of it; never freed.
typedef struct cryptort_library cryptort_library;

/// A digest of which not all input is known yet; used by one thread at a time.
typedef struct cryptort_running_hash cryptort_running_hash;

/// A sequence of bytes; `start` is not read when `count` is 0.
typedef struct cryptort_bytes {
    const uint8_t *start;
    size_t count;
} cryptort_bytes;

typedef enum {
    cryptort_md5 = 0,
    cryptort_sha1 = 1,
    cryptort_sha256 = 2,
    cryptort_sha512 = 3,
} cryptort_digest;

typedef enum {
    cryptort_aes_128_gcm = 0,
    cryptort_aes_192_gcm = 1,
    cryptort_aes_256_gcm = 2,
    cryptort_chacha20_poly1305 = 3,
} cryptort_cipher;

typedef enum {
    cryptort_success = 0,
    /// The library does not have the algorithm, or it is disabled.
    cryptort_unavailable = 1,
    /// The library does not accept a nonce of this length.
    cryptort_bad_nonce = 2,
    /// The tag does not fit the key, the nonce, the bytes and the associated data.
    cryptort_not_authentic = 3,
    /// The library has reported another failure.
    cryptort_failed = 4,
} cryptort_result;

enum {
    cryptort_tag_count = 16,
};

/// Returns the first usable library of `names`: one that the process has loaded already, otherwise one that can be loaded.
///
/// Called on any thread. Returns `NULL` when there is none, and writes the reason.
///
/// - Parameter oldest_version: As `OPENSSL_VERSION_NUMBER` has it.
cryptort_library *cryptort_load(
    const char *const *names, size_t count, unsigned long oldest_version, char *reason, size_t room);

/// Returns the version of the library as text.
const char *cryptort_version(const cryptort_library *library);

/// Begins a digest whose input arrives in parts, and which must be freed.
cryptort_result cryptort_hash_start(
    const cryptort_library *library, cryptort_digest digest, cryptort_running_hash **hash);

/// Adds a part of the input.
cryptort_result cryptort_hash_add(
    const cryptort_library *library, cryptort_running_hash *hash, cryptort_bytes input);

/// Writes the digest of all parts, 16, 20, 32 or 64 bytes; no others may be added afterwards.
cryptort_result cryptort_hash_finish(
    const cryptort_library *library, cryptort_running_hash *hash, uint8_t *output);

/// Frees a digest, finished or not.
void cryptort_hash_free(const cryptort_library *library, cryptort_running_hash *hash);

/// Writes the 32 bytes of the HMAC-SHA-256 of `input` (RFC 2104).
cryptort_result cryptort_hmac_sha256(
    const cryptort_library *library, cryptort_bytes key, cryptort_bytes input, uint8_t *output);

/// Writes as many bytes as `input` has, and a tag of 16 bytes after them.
///
/// `key` is as long as the cipher requires.
cryptort_result cryptort_seal(
    const cryptort_library *library, cryptort_cipher cipher, const uint8_t *key, cryptort_bytes nonce,
    cryptort_bytes associated, cryptort_bytes input, uint8_t *output);

/// Writes as many bytes as `input` has, which may be used only after `cryptort_success`.
///
/// `key` is as long as the cipher requires, and `tag` has 16 bytes.
cryptort_result cryptort_open(
    const cryptort_library *library, cryptort_cipher cipher, const uint8_t *key, cryptort_bytes nonce,
    cryptort_bytes associated, cryptort_bytes input, const uint8_t *tag, uint8_t *output);

#endif
#endif
