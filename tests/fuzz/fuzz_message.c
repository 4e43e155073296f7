/* tests/fuzz/fuzz_message.c - whatever decodes encodes to the same bytes
 *
 * But for what people read on a terminal: that is escaped when it comes in.
 */
#include "net/message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void encode (const struct message *m, struct buf *b)
{
    buf_init (b, 65536);
    message_encode (m, b);
    if (b->failed)
        abort ();
}

/* What was decoded says the same when it has gone over the wire once more. */
static void check_again (const struct message *m, const struct buf *b)
{
    struct message again;
    struct buf c;

    if (message_decode (&again, b->data, b->size, NULL) < 0)
        abort ();
    memcpy (again.host, m->host, sizeof (again.host));      // escaped twice
    memcpy (again.text, m->text, sizeof (again.text));
    encode (&again, &c);
    if (c.size != b->size || memcmp (c.data, b->data, c.size) != 0)
        abort ();
    buf_fini (&c);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct message m;
    struct buf b;
    bool escaped;

    if (message_decode (&m, data, size, NULL) < 0)
        return 0;
    encode (&m, &b);
    check_again (&m, &b);
    escaped = strchr (m.host, '\\') || strchr (m.text, '\\');
    // a bool is any byte but 0 on the wire, and 1 when it goes back
    if (!escaped &&
        (b.size != size ||
         (m.type != MESSAGE_ROLL && m.type != MESSAGE_WELCOME &&
          memcmp (b.data, data, size) != 0)))
        abort ();
    buf_fini (&b);
    return 0;
}
