/* tests/fuzz/fuzz_keys.c - a file of keys: what is read is read again the same
 */
#include "net/keys.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct key_file k, again;
    struct buf b;

    if (key_parse ((const char *)data, size, &k, NULL) < 0)
        return 0;
    if (!key_valid (k.public_key) || (k.name[0] && !key_valid_name (k.name)))
        abort ();
    buf_init (&b, KEY_FILE_MAX);
    key_print (&k, &b);
    if (b.failed ||
        key_parse ((const char *)b.data, b.size, &again, NULL) < 0 ||
        strcmp (k.public_key, again.public_key) != 0 ||
        strcmp (k.secret_key, again.secret_key) != 0 ||
        k.created != again.created || k.until != again.until ||
        k.revoked != again.revoked)
        abort ();
    buf_fini (&b);
    return 0;
}
