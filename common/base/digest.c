/* common/base/digest.c - SHA-256, and MD5 */
#include "base/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct digester {
    EVP_MD_CTX *sha256;
    bool begun;
};

/* libcrypto looks for an algorithm by its name, which takes longer than to hash a
 * few hundred bytes: once for a process, which keeps it.  NULL: there was no memory
 * for it, and it is looked for each time.
 */
static EVP_MD *sha256_found;

static void find_sha256 (void)
{
    sha256_found = EVP_MD_fetch (NULL, "SHA256", NULL);
}

static const EVP_MD *sha256 (void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once (&once, find_sha256);
    return sha256_found ? sha256_found : EVP_sha256 ();
}

int digest_of (const void *data, size_t size, struct digest *out)
{
    unsigned n = 0;

    if (!EVP_Digest (data, size, out->bytes, &n, sha256 (), NULL))
        return -ENOMEM;
    return n == DIGEST_SIZE ? 0 : -ENOMEM;
}

struct digester *digester_create (void)
{
    struct digester *d = calloc (1, sizeof (*d));

    if (d && !(d->sha256 = EVP_MD_CTX_new ())) {
        free (d);
        d = NULL;
    }
    return d;
}

void digester_destroy (struct digester *d)
{
    if (d)
        EVP_MD_CTX_free (d->sha256);
    free (d);
}

int digest_add (struct digester *d, const void *data, size_t size)
{
    if (!d->begun && !EVP_DigestInit_ex (d->sha256, sha256 (), NULL))
        return -ENOMEM;
    d->begun = true;
    return EVP_DigestUpdate (d->sha256, data, size) ? 0 : -ENOMEM;
}

int digest_end (struct digester *d, struct digest *out)
{
    int rc = digest_add (d, "", 0);     // of nothing, perhaps

    d->begun = false;
    return rc == 0 && EVP_DigestFinal_ex (d->sha256, out->bytes, NULL)
               ? 0 : -ENOMEM;
}

bool digest_is (const struct digest *a, const struct digest *b)
{
    return memcmp (a->bytes, b->bytes, DIGEST_SIZE) == 0;
}

static void hex (const uint8_t *bytes, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * n] = '\0';
}

void digest_hex (const struct digest *d, char out[DIGEST_HEX_SIZE])
{
    hex (d->bytes, DIGEST_SIZE, out);
}

void digest_base64 (const struct digest *d, char out[DIGEST_BASE64_SIZE])
{
    (void)EVP_EncodeBlock ((unsigned char *)out, d->bytes, DIGEST_SIZE);
}

static int hex_value (char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

int digest_parse (const char *text, struct digest *out)
{
    struct digest d;

    if (strlen (text) != DIGEST_HEX_SIZE - 1)
        return -EINVAL;
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        int high = hex_value (text[2 * i]);
        int low = hex_value (text[2 * i + 1]);

        if (high < 0 || low < 0)
            return -EINVAL;
        d.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *out = d;
    return 0;
}

int64_t digest_number (const struct digest *d)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < sizeof (v); i++)
        v |= (uint64_t)d->bytes[i] << (8 * i);
    return (int64_t)v;
}

int digest_md5 (const void *data, size_t size, struct md5 *out)
{
    unsigned n = 0;

    return EVP_Digest (data, size, out->bytes, &n, EVP_md5 (), NULL) &&
                   n == MD5_SIZE ? 0 : -ENOTSUP;
}

void md5_hex (const struct md5 *m, char out[MD5_HEX_SIZE])
{
    hex (m->bytes, MD5_SIZE, out);
}

void md5_base64 (const struct md5 *m, char out[MD5_BASE64_SIZE])
{
    (void)EVP_EncodeBlock ((unsigned char *)out, m->bytes, MD5_SIZE);
}
