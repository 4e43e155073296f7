/* tests/kit/nonsense.h - messages that nobody should send */
#ifndef ROLLCALL_KIT_NONSENSE_H
#define ROLLCALL_KIT_NONSENSE_H

#include "base/buf.h"
#include "net/message.h"

/* 0 to n-1; the same for the same seed. */
void nonsense_seed (uint64_t seed);
uint32_t nonsense_draw (uint32_t n);

/* A message whose members are in their bounds, or at one of them; of a type of
 * agents, or of any.
 */
void nonsense_message (struct message *m, bool of_agents);

/* Change a frame: bits, bytes, numbers, its length, version and type. */
void nonsense_damage (struct buf *b);

/* Send it with what may follow: a frame too few, too many, empty ones, of any
 * size.  'to' (of 'size' bytes, or NULL) goes before.  false: there is no room.
 */
bool nonsense_send (void *socket, const void *to, size_t size,
                    const struct buf *head, bool data);

#endif
