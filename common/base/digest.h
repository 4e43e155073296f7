/* common/base/digest.h - SHA-256, and MD5, by libcrypto, which uses instructions
 * of the CPU for it; the only user of that library
 */
#ifndef ROLLCALL_BASE_DIGEST_H
#define ROLLCALL_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_SIZE 32                          // bytes
#define DIGEST_HEX_SIZE (2 * DIGEST_SIZE + 1)   // with the NUL
#define DIGEST_BASE64_SIZE (4 * ((DIGEST_SIZE + 2) / 3) + 1)

struct digest {
    uint8_t bytes[DIGEST_SIZE];
};

/* Hash 'size' bytes.  Returns 0, or -ENOMEM if libcrypto cannot create a
 * SHA-256.
 */
int digest_of (const void *data, size_t size, struct digest *out);

/* Hash bytes that come one after the other.  digest_end sets *out, and the next
 * digest_add begins again.  The functions return as digest_of; NULL: no memory.
 */
struct digester;

struct digester *digester_create (void);
void digester_destroy (struct digester *d);     // d may be NULL
int digest_add (struct digester *d, const void *data, size_t size);
int digest_end (struct digester *d, struct digest *out);

bool digest_is (const struct digest *a, const struct digest *b);

void digest_hex (const struct digest *d, char out[DIGEST_HEX_SIZE]);
void digest_base64 (const struct digest *d, char out[DIGEST_BASE64_SIZE]);

/* The first eight bytes, little-endian. */
int64_t digest_number (const struct digest *d);

/* Parse hexadecimal digits.  Returns 0, or -EINVAL if 'hex' is not 64 of them.
 */
int digest_parse (const char *hex, struct digest *out);

/* MD5, only where a protocol wants it: it finds damage, and no intent.
 * digest_md5 returns 0, or -ENOTSUP if libcrypto is set up without it.
 */
#define MD5_SIZE 16                             // bytes
#define MD5_HEX_SIZE (2 * MD5_SIZE + 1)
#define MD5_BASE64_SIZE (4 * ((MD5_SIZE + 2) / 3) + 1)

struct md5 {
    uint8_t bytes[MD5_SIZE];
};

int digest_md5 (const void *data, size_t size, struct md5 *out);
void md5_hex (const struct md5 *m, char out[MD5_HEX_SIZE]);
void md5_base64 (const struct md5 *m, char out[MD5_BASE64_SIZE]);

#endif
