/* common/base/wire.h - little-endian values in byte strings
 *
 * Writing appends to a 'struct buf'.  Reading is a cursor that fails once and
 * then yields zeros, so that a decoder checks 'failed' at its end instead of
 * after every value.
 */
#ifndef ROLLCALL_BASE_WIRE_H
#define ROLLCALL_BASE_WIRE_H

#include "base/buf.h"

void wire_put_u8 (struct buf *b, uint8_t v);
void wire_put_u16 (struct buf *b, uint16_t v);
void wire_put_u32 (struct buf *b, uint32_t v);
void wire_put_u64 (struct buf *b, uint64_t v);
void wire_put_i64 (struct buf *b, int64_t v);
void wire_put_text (struct buf *b, const char *s);      // u32 length, bytes

struct wire {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

struct wire wire_reader (const void *data, size_t size);
uint8_t wire_u8 (struct wire *w);
uint16_t wire_u16 (struct wire *w);
uint32_t wire_u32 (struct wire *w);
uint64_t wire_u64 (struct wire *w);
int64_t wire_i64 (struct wire *w);

/* Read 'n' bytes, which are borrowed from the input; NULL after a failure. */
const void *wire_bytes (struct wire *w, size_t n);

/* Read a text of at most 'max' - 1 bytes into 'out', which is always
 * terminated.  A longer text, or one with a NUL inside, is a failure; it is
 * never cut.
 */
void wire_text (struct wire *w, char *out, size_t max);

/* Whether everything was read and nothing failed. */
bool wire_ended (const struct wire *w);

#endif
