/* aggregator/builder/team_words.h - what the processes of a build tell each
 * other
 *
 * Numbers are little-endian; a text is a u32 length and its bytes.  SEEN, TAKE and
 * GIVE have two numbers; what is not named is 0.
 *
 *   word     the member says                 the lead answers
 *   READY    u64 team_order                  a pass (struct team_pass), once
 *                                            there is one; nothing: it is over
 *   SEEN     u32 wrote the probe             u32 writes to the file itself
 *   NEXT                                     u32 n, items; 0: no more
 *   TAKE     u32 pages                       u32 the first
 *   GIVE     u32 the first, u32 pages
 *   WRITE    u32 page, bytes
 *   READ     u64 source, u64 at, u32 bytes   the bytes
 *   CAPTURE  u32 thread, some: u64 index,
 *            what was read
 *   LEAVES   u32 table, leaves
 *   DONE     i64 outcome, text, u64 rows
 *
 * A pass: all captures are read once.
 *
 * All ranks of a job list the members of the world, so that n captures have n
 * numbers each.  A thread of a member says a list of ranks in full once in a pass,
 * and then its number.  Rank 0 has one copy of what all threads say: these are
 * lists of groups, which it keeps for the result anyway (builder/groups.h), at
 * most CAPTURE_GROUPS_MAX of a capture; so it has no more of them than a process
 * alone, and 4 bytes for each list that a thread has said.
 */
#ifndef ROLLCALL_BUILDER_TEAM_WORDS_H
#define ROLLCALL_BUILDER_TEAM_WORDS_H

#include "builder/part.h"
#include "builder/team.h"
#include "model/rank_lists.h"

#include <limits.h>

#define TEAM_LEAVES_MAX 32768u          // in one message
#define TEAM_READ_MAX (1u << 20)        // bytes in one message
#define TEAM_CAPTURES_MIN (256u << 10)  // bytes; or those of a range
#define TEAM_LIST_MIN 64u               // ranks; shorter lists have no numbers
#define TEAM_PROBE 16u                  // bytes, and their answer behind them

struct team_pass {
    bool rows;                  // false: nothing is written
    char path[PATH_MAX];        // of the file
    uint32_t page_size, probe;  // the page that has the bytes of 'nonce'
    uint8_t nonce[TEAM_PROBE];
    uint32_t threads;           // of a host; 0: one for each processor
    uint32_t world_max;         // capture_world_max
    struct wire settings;       // borrowed: struct build_remote
};

/* Where a member writes its answer to the probe: the complement of its bytes. */
uint32_t team_probe_offset (const struct team_pass *p, unsigned rank);
void team_probe_answer (const struct team_pass *p, uint8_t out[TEAM_PROBE]);

void team_put_pass (struct buf *b, const struct team_pass *p,
                    const struct buf *settings);
void team_get_pass (struct wire *w, struct team_pass *ret);

/* An item as a member needs it: the struct select_item has its place and source
 * only.  'order' as in struct build_remote; what is got is borrowed.
 */
void team_put_item (struct buf *b, size_t index, const struct select_item *item,
                    const struct buf *order);
void team_get_item (struct wire *w, size_t *index, struct select_item *ret,
                    struct wire *order);

/* What rank 0 has heard of one thread of a member: a zeroed struct, with its list
 * of all lists.
 */
struct team_heard {
    struct rank_lists *all;     // of all threads
    uint32_t *numbers;          // there, by the numbers of the thread
    uint32_t n;
};

void team_heard_fini (struct team_heard *h);

/* A capture that was read, with what its ops used.  The groups, whose names are
 * the caller's, are freed by team_free_groups.  'said' and 'heard' belong to the
 * thread that says it.  -EBADMSG: it is damaged, or has a number of no list;
 * -ENOMEM.
 */
struct team_capture {
    struct capture capture;
    struct row_span span;
    struct part_group *groups;
    size_t ngroups;
};

void team_put_capture (struct buf *b, struct rank_lists *said, size_t index,
                       const struct capture *c, const struct row_span *span,
                       const struct part_group *groups, size_t n);
int team_get_capture (struct wire *w, struct team_heard *heard, size_t *index,
                      struct team_capture *ret, struct err *err);
void team_free_groups (struct team_capture *c);

void team_put_leaf (struct buf *b, const struct page_leaf *leaf);
void team_get_leaf (struct wire *w, struct page_leaf *ret);

#endif
