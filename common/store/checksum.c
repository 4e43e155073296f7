/* common/store/checksum.c - the CRC-32 of gzip */
#include "store/checksum.h"

#include <zlib.h>

uint32_t checksum_add (uint32_t before, const void *data, size_t size)
{
    return (uint32_t)crc32_z (before, data, size);
}
