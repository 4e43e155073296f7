/* common/base/pack.c - compressed bytes */
#include "base/pack.h"

#include <errno.h>
#include <lz4.h>
#include <lz4frame.h>

int pack_frame (const void *data, size_t size, struct buf *out,
                struct err *err)
{
    LZ4F_preferences_t prefs = LZ4F_INIT_PREFERENCES;
    size_t bound, n;
    void *at;

    prefs.frameInfo.blockSizeID = LZ4F_max4MB;
    prefs.frameInfo.blockMode = LZ4F_blockIndependent;
    prefs.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
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
    return err_set (err, EBADMSG, "damaged LZ4 frame: %s",
                    LZ4F_isError (code) ? LZ4F_getErrorName (code)
                                        : "its size is not the stated one");
}

int pack_open (const void *frame, size_t size, void *raw, size_t raw_size,
               struct err *err)
{
    LZ4F_dctx *dctx = NULL;
    size_t code = LZ4F_createDecompressionContext (&dctx, LZ4F_VERSION);
    size_t got = 0, used = 0;

    if (LZ4F_isError (code))
        return err_set (err, ENOMEM, "LZ4: %s", LZ4F_getErrorName (code));
    do {
        size_t in = size - used, out = raw_size - got;

        code = LZ4F_decompress (dctx, (char *)raw + got, &out,
                                (const char *)frame + used, &in, NULL);
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

int pack_chunk_open (enum chunk_codec codec, const void *stored, size_t size,
                     void *raw, size_t raw_size, const void **ret)
{
    *ret = codec == CODEC_PLAIN ? stored : raw;
    if (codec == CODEC_PLAIN)
        return size == raw_size ? 0 : -EBADMSG;
    return codec == CODEC_LZ4 ? pack_open (stored, size, raw, raw_size, NULL)
                              : -EBADMSG;
}

const char *pack_version (void)
{
    return LZ4_versionString ();
}
