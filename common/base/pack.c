/* common/base/pack.c - compressed bytes */
#include "base/pack.h"

#include <errno.h>
#include <string.h>
#include <lz4.h>
#include <lz4frame.h>
#ifdef ROLLCALL_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

#define PLAIN_RUN_MAX 31        // chunks: 1 in 32 is tried at least
#define PROBE_BYTES 65536       // of a chunk that probably does not get smaller

int pack_frame (const void *data, size_t size, struct buf *out,
                struct err *err)
{
    LZ4F_preferences_t prefs = LZ4F_INIT_PREFERENCES;
    size_t bound, n;
    void *at;

    prefs.frameInfo.blockSizeID = LZ4F_max4MB;
    prefs.frameInfo.blockMode = LZ4F_blockIndependent;
    prefs.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled;
    prefs.frameInfo.contentSize = size;
    bound = LZ4F_compressFrameBound (size, &prefs);
    if (!(at = buf_extend (out, bound)))
        return err_set (err, ENOMEM, "no memory to compress %zu bytes", size);
    n = LZ4F_compressFrame (at, bound, data, size, &prefs);
    out->size -= LZ4F_isError (n) ? bound : bound - n;
    if (LZ4F_isError (n))
        return err_set (err, ENOMEM, "LZ4: %s", LZ4F_getErrorName (n));
    return 0;
}

static int frame_error (LZ4F_dctx *dctx, size_t code, struct err *err)
{
    LZ4F_freeDecompressionContext (dctx);
    // its codes are not in the header
    if (strcmp (LZ4F_getErrorName (code), "ERROR_allocation_failed") == 0)
        return err_set (err, ENOMEM, "no memory for an LZ4 frame");
    return err_set (err, EBADMSG, "damaged LZ4 frame: %s",
                    LZ4F_isError (code) ? LZ4F_getErrorName (code)
                                        : "its size is not the stated one");
}

/* 'room': of 'raw', raw_size or more. */
static int lz4_open (const void *frame, size_t size, void *raw, size_t room,
                     size_t raw_size, bool sums, struct err *err)
{
    const LZ4F_decompressOptions_t how = { .skipChecksums = !sums };
    LZ4F_dctx *dctx = NULL;
    size_t code = LZ4F_createDecompressionContext (&dctx, LZ4F_VERSION);
    size_t got = 0, used = 0;

    if (LZ4F_isError (code))
        return err_set (err, ENOMEM, "LZ4: %s", LZ4F_getErrorName (code));
    do {
        size_t in = size - used, out = room - got;

        code = LZ4F_decompress (dctx, (char *)raw + got, &out,
                                (const char *)frame + used, &in, &how);
        if (LZ4F_isError (code))
            return frame_error (dctx, code, err);
        used += in;
        got += out;
        if (in == 0 && out == 0 && code != 0)   // truncated, or too long
            return frame_error (dctx, 0, err);
    } while (code != 0);
    if (used != size || got != raw_size)
        return frame_error (dctx, 0, err);
    LZ4F_freeDecompressionContext (dctx);
    return 0;
}

int pack_open (const void *frame, size_t size, void *raw, size_t raw_size,
               struct err *err)
{
    return lz4_open (frame, size, raw, raw_size, raw_size, true, err);
}

#ifdef ROLLCALL_ZSTD
static int zstd_frame (const void *data, size_t size, struct buf *out)
{
    size_t bound = ZSTD_compressBound (size), n = 0;
    ZSTD_CCtx *c = ZSTD_createCCtx ();
    void *at = buf_extend (out, bound);
    bool good = c && at &&
                !ZSTD_isError (ZSTD_CCtx_setParameter (c, ZSTD_c_checksumFlag,
                                                       1));

    if (good) {
        n = ZSTD_compress2 (c, at, bound, data, size);
        good = !ZSTD_isError (n);
    }
    if (at)
        out->size -= good ? bound - n : bound;
    (void)ZSTD_freeCCtx (c);
    return good ? 0 : -ENOMEM;
}

/* One frame, whole, and nothing behind it. */
static int zstd_open (const void *frame, size_t size, void *raw,
                      size_t raw_size)
{
    size_t n;

    if (ZSTD_getFrameContentSize (frame, size) != raw_size ||
        ZSTD_findFrameCompressedSize (frame, size) != size)
        return -EBADMSG;
    n = ZSTD_decompress (raw, raw_size, frame, size);
    if (ZSTD_isError (n) &&
        ZSTD_getErrorCode (n) == ZSTD_error_memory_allocation)
        return -ENOMEM;
    return n == raw_size ? 0 : -EBADMSG;
}
#else
static int zstd_frame (const void *data, size_t size, struct buf *out)
{
    (void)data;
    (void)size;
    (void)out;
    return -ENOTSUP;
}

static int zstd_open (const void *frame, size_t size, void *raw,
                      size_t raw_size)
{
    (void)frame;
    (void)size;
    (void)raw;
    (void)raw_size;
    return -ENOTSUP;
}
#endif

int pack_chunk_open (enum chunk_codec codec, const void *stored, size_t size,
                     void *raw, size_t raw_size, bool sums, const void **ret)
{
    *ret = codec == CODEC_PLAIN ? stored : raw;
    if (raw_size > PACK_ROOM)
        return -EBADMSG;
    switch (codec) {
    case CODEC_PLAIN:
        return size == raw_size ? 0 : -EBADMSG;
    case CODEC_LZ4:
        return lz4_open (stored, size, raw, PACK_ROOM, raw_size, sums, NULL);
    case CODEC_ZSTD:
        return zstd_open (stored, size, raw, raw_size);
    default:
        return -EBADMSG;
    }
}

int pack_chunk (enum chunk_codec codec, const void *data, size_t size,
                struct buf *out)
{
    if (codec == CODEC_ZSTD)
        return zstd_frame (data, size, out);
    if (codec == CODEC_LZ4)
        return pack_frame (data, size, out, NULL);
    buf_put (out, data, size);
    return out->failed ? -ENOMEM : 0;
}

/* ---- what does not get smaller ---- */

static bool is_smaller (enum chunk_codec codec, const void *data, size_t size,
                        struct buf *out)
{
    buf_clear (out);
    return pack_chunk (codec, data, size, out) == 0 && out->size < size;
}

bool pack_smaller (struct pack_trial *t, uint64_t i, enum chunk_codec codec,
                   const void *data, size_t size, struct buf *out)
{
    bool doubt = t->plain_run > 0 && size > PROBE_BYTES, smaller;

    if (codec == CODEC_PLAIN || i < t->plain_until)
        return false;
    smaller = (!doubt || is_smaller (codec, data, PROBE_BYTES, out)) &&
              is_smaller (codec, data, size, out);
    t->plain_run = smaller ? 0 : 2 * t->plain_run + 1;
    if (t->plain_run > PLAIN_RUN_MAX)
        t->plain_run = PLAIN_RUN_MAX;
    t->plain_until = i + 1 + t->plain_run;
    return smaller;
}

int pack_parse_codec (const char *name, enum chunk_codec *ret, struct err *err)
{
    static const char *const names[CODECS] = { "none", "lz4", "zstd" };

    for (unsigned i = 0; i < CODECS; i++) {
        if (strcmp (name, names[i]) != 0)
            continue;
        *ret = (enum chunk_codec)i;
        return pack_codecs () >> i & 1
                   ? 0 : err_set (err, ENOTSUP, "--compress %s: this build of "
                                  "rollcall does not have it", name);
    }
    return err_set (err, EINVAL, "--compress: one of lz4, zstd, none");
}

unsigned pack_codecs (void)
{
#ifdef ROLLCALL_ZSTD
    return 1u << CODEC_PLAIN | 1u << CODEC_LZ4 | 1u << CODEC_ZSTD;
#else
    return 1u << CODEC_PLAIN | 1u << CODEC_LZ4;
#endif
}

const char *pack_version (void)
{
    return LZ4_versionString ();
}
