/* tests/fuzz/fuzz_pack.c - LZ4 frames: opened as stated, or refused
 *
 * Input: two bytes for the size that is stated; then the frame.  It is also
 * tried with a header of our own in front, whose checksum a fuzzer does not
 * find; and what packs opens to the same bytes.
 */
#include "base/pack.h"

#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void open_frame (const void *frame, size_t size, size_t raw_size)
{
    uint8_t *raw = malloc (raw_size ? raw_size : 1);

    if (!raw)
        abort ();
    memset (raw, 0xa5, raw_size);
    (void)pack_open (frame, size, raw, raw_size, NULL);
    free (raw);
}

/* The first byte of the rest says what the header says. */
static void open_with_header (const uint8_t *data, size_t size,
                              size_t raw_size)
{
    LZ4F_preferences_t prefs = LZ4F_INIT_PREFERENCES;
    uint8_t head[LZ4F_HEADER_SIZE_MAX];
    LZ4F_cctx *c = NULL;
    uint8_t *frame;
    size_t n;

    prefs.frameInfo.blockSizeID = LZ4F_max64KB + data[0] % 4;
    prefs.frameInfo.blockMode = data[0] & 4 ? LZ4F_blockIndependent
                                            : LZ4F_blockLinked;
    prefs.frameInfo.contentChecksumFlag = (data[0] & 8) != 0;
    prefs.frameInfo.blockChecksumFlag = (data[0] & 16) != 0;
    prefs.frameInfo.contentSize = data[0] & 32 ? raw_size : 0;
    prefs.frameInfo.dictID = data[0] & 64 ? 7 : 0;
    if (LZ4F_isError (LZ4F_createCompressionContext (&c, LZ4F_VERSION)))
        abort ();
    n = LZ4F_compressBegin (c, head, sizeof (head), &prefs);
    (void)LZ4F_freeCompressionContext (c);
    if (LZ4F_isError (n) || !(frame = malloc (n + size)))
        abort ();
    memcpy (frame, head, n);
    memcpy (frame + n, data + 1, size - 1);
    open_frame (frame, n + size - 1, raw_size);
    free (frame);
}

static void there_and_back (const uint8_t *data, size_t size)
{
    uint8_t *raw = malloc (size + 1);
    struct buf b;

    buf_init (&b, 1u << 20);
    if (!raw || pack_frame (data, size, &b, NULL) < 0 ||
        pack_open (b.data, b.size, raw, size, NULL) < 0 ||
        memcmp (raw, data, size) != 0)
        abort ();
    if (pack_open (b.data, b.size, raw, size + 1, NULL) == 0)
        abort ();               // it does not hold so much
    buf_fini (&b);
    free (raw);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    size_t raw_size;

    if (size < 3)
        return 0;
    raw_size = (size_t)data[0] << 8 | data[1];
    open_frame (data + 2, size - 2, raw_size);
    open_with_header (data + 2, size - 2, raw_size);
    there_and_back (data + 2, size - 2);
    return 0;
}
