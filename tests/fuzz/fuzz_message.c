/* tests/fuzz/fuzz_message.c - whatever decodes encodes to the same bytes */
#include "net/message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct message m;
    struct buf b;

    if (message_decode (&m, data, size, NULL) < 0)
        return 0;
    buf_init (&b, 65536);
    message_encode (&m, &b);
    // a bool is any byte but 0 on the wire, and 1 when it goes back
    if (b.failed || b.size != size ||
        (m.type != MESSAGE_ROLL && memcmp (b.data, data, size) != 0))
        abort ();
    buf_fini (&b);
    return 0;
}
