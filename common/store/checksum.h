/* common/store/checksum.h - the CRC-32 of gzip: many times as fast as a SHA-256, and
 * good against what disks do, not against people
 */
#ifndef ROLLCALL_STORE_CHECKSUM_H
#define ROLLCALL_STORE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* That of what came before, 0 of nothing, with 'size' bytes behind it. */
uint32_t checksum_add (uint32_t before, const void *data, size_t size);

#endif
