/* tests/fuzz/fuzz_shipment.c - foreign shipments: read or refused, never more
 *
 * The frames inside have checksums that a fuzzer does not find by itself, so
 * the input is also tried as the unpacked payload of one part, put into a
 * shipment that is otherwise well formed.
 */
#include "base/pack.h"
#include "base/wire.h"
#include "fuzz_rows.h"
#include "model/shipment.h"
#include "store/fileio.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void replay (const void *bytes, size_t size)
{
    int fd = memfd_create ("fuzz", MFD_CLOEXEC);
    struct fuzz_rows_seen seen = { 0, 0 };
    const struct row_sink sink = fuzz_rows (&seen);
    struct byte_source from;
    struct capture c;

    if (fd < 0 || fileio_write_all (fd, bytes, size) < 0)
        abort ();
    capture_init (&c);
    from = byte_source_of (fd, 0, size);
    (void)shipment_replay (&from, &sink, &c, NULL);
    capture_fini (&c);
    (void)close (fd);
}

static void put_part (struct buf *out, uint8_t kind, const void *raw,
                      size_t size)
{
    struct buf packed;

    buf_init (&packed, 16u << 20);
    if (pack_frame (raw, size, &packed, NULL) < 0)
        abort ();
    wire_put_u8 (out, kind);
    wire_put_u8 (out, 1);
    wire_put_u16 (out, 0);
    wire_put_u32 (out, (uint32_t)packed.size);
    wire_put_u32 (out, (uint32_t)size);
    buf_put (out, packed.data, packed.size);
    buf_fini (&packed);
}

/* The first byte of the input is the kind of the part that the rest is. */
static void wrap (const uint8_t *data, size_t size)
{
    static const char meta[] = "{\"rank\":\"1\",\"state\":\"complete\"}";
    uint8_t kind = size ? data[0] % 4 : 0;
    uint64_t at;
    struct buf b;

    buf_init (&b, 32u << 20);
    buf_put (&b, "RCSHIP\r\n", 8);
    wire_put_u16 (&b, SHIPMENT_VERSION);
    wire_put_u16 (&b, 0);
    wire_put_u32 (&b, 0);
    if (size > 0 && kind != 3)
        put_part (&b, kind, data + 1, size - 1);
    at = b.size;
    if (kind == 3)
        put_part (&b, 3, data + 1, size - 1);
    else
        put_part (&b, 3, meta, sizeof (meta) - 1);
    wire_put_u64 (&b, at);
    buf_put (&b, "RCSHEND\n", 8);
    if (!b.failed)
        replay (b.data, b.size);
    buf_fini (&b);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    replay (data, size);
    wrap (data, size);
    return 0;
}
