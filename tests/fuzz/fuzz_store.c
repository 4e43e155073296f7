/* tests/fuzz/fuzz_store.c - what an object store, its metadata service and a file
 * of credentials say
 *
 * All decoders get the same bytes, with a NUL behind them.  What they find lies
 * within, texts end within their room, and credentials have no blanks.
 */
#include "object_store/answer.h"
#include "object_store/credentials.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void must (bool so)
{
    if (!so)
        abort ();
}

static void read_elements (const char *text, const char *end, const char *name)
{
    const char *at = text, *s;
    char out[64];
    size_t n;

    while (answer_element (name, &at, end, &s, &n)) {
        must (s >= text && s <= end && n <= (size_t)(end - s));
        must (at >= s + n && at <= end);
        if (answer_text (s, s + n, "Key", out, sizeof (out)))
            must (memchr (out, '\0', sizeof (out)) != NULL);
    }
}

static void check_credentials (const struct credentials *c)
{
    must (strlen (c->key_id) < sizeof (c->key_id));
    must (strlen (c->secret) < sizeof (c->secret));
    must (strlen (c->token) < sizeof (c->token));
    must (!strpbrk (c->key_id, " \r\n") && !strpbrk (c->secret, " \r\n") &&
          !strpbrk (c->token, " \r\n"));
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct credentials file = { .until_ns = 0 }, instance = { .until_ns = 0 };
    char *text = malloc (size + 1);
    struct answer a;

    must (text != NULL);
    memcpy (text, data, size);
    text[size] = '\0';
    a = answer_judge (200, text, size);
    must (strlen (a.code) < sizeof (a.code));
    must ((a.kind == ANSWER_FINE) == (a.error == 0));
    must (answer_judge (503, text, size).kind != ANSWER_FINE);
    read_elements (text, text + size, "Contents");
    read_elements (text, text + size, "Part");
    if (credentials_of_file (text, "default", &file, NULL) > 0)
        check_credentials (&file);
    if (credentials_of_instance (text, size, &instance, NULL) > 0)
        check_credentials (&instance);
    free (text);
    return 0;
}
