/* common/base/counter.h - how often something happened in this process
 *
 * Every drop, refusal, retry and repair is counted under a name that
 * `rollcall status --json` prints: nothing is left out silently.  A row here
 * is all that a new counter needs.  Any thread may count.
 */
#ifndef ROLLCALL_BASE_COUNTER_H
#define ROLLCALL_BASE_COUNTER_H

#include <stdint.h>

#define COUNTERS(ROW) \
    ROW (MESSAGES_REFUSED, "messages_refused", \
         "malformed messages, and messages of unknown senders") \
    ROW (PEERS_REFUSED, "peers_refused", \
         "connections refused: wrong, missing or revoked key, or version") \
    ROW (SHARES_REFUSED, "shares_refused", \
         "more jobs, agents, ranks or texts than there is room for of a key") \
    ROW (HOSTS_REFUSED, "hosts_refused", \
         "agents refused: their key does not speak for their host") \
    ROW (ACCEPTS_FAILED, "accepts_failed", \
         "connections that could not be taken: no descriptor was left") \
    ROW (OFFERS_REPEATED, "offers_repeated", "items offered again") \
    ROW (OFFERS_DEFERRED, "offers_deferred", \
         "offers that were not taken now, since too many wait") \
    ROW (AGENTS_STALLED, "agents_stalled", \
         "agents that were asked and did not answer in time") \
    ROW (CHUNKS_SENT, "chunks_sent", "chunks sent, repetitions included") \
    ROW (CHUNKS_TAKEN, "chunks_taken", "chunks that were asked for and came") \
    ROW (CHUNKS_IGNORED, "chunks_ignored", \
         "chunks that nobody had asked for, or came twice") \
    ROW (CHUNKS_DAMAGED, "chunks_damaged", "chunks that did not unpack") \
    ROW (ITEMS_SEALED, "items_sealed", "items put into the spool") \
    ROW (ITEMS_DURABLE, "items_durable", "items acknowledged") \
    ROW (ITEMS_GONE, "items_gone", \
         "items whose file changed or vanished before it was delivered") \
    ROW (BYTES_SENT, "bytes_sent", "bytes of chunks, as they travelled") \
    ROW (GETS_ASTRAY, "gets_astray", \
         "questions for chunks that do not exist, or when too many wait") \
    ROW (NOTES_DROPPED, "notes_dropped", "sentences above their limit") \
    ROW (RAW_SKIPPED, "raw_skipped", \
         "raw files and directories left out: unreadable, too many, too late") \
    ROW (ITEMS_ENTERED, "items_entered", "new items in the ledger") \
    ROW (ITEMS_KNOWN, "items_known", "items that came a second time") \
    ROW (ITEMS_MISMATCHED, "items_mismatched", \
         "items that came with another content than was offered") \
    ROW (ITEMS_QUARANTINED, "items_quarantined", "damaged items set aside") \
    ROW (DISK_FLOORS, "disk_floors", \
         "times that a disk had too little room and work stopped") \
    ROW (CAPTURES_HELD, "captures_held", \
         "times that a capture had to wait for room in the spool") \
    ROW (CAPTURES_REFUSED, "captures_refused", \
         "captures given up for want of room (--when-full refuse)") \
    ROW (CAPTURES_RELEASED, "captures_released", \
         "captures removed because all of them was delivered") \
    ROW (RELEASES_REFUSED, "releases_refused", \
         "captures that stay because they are not what was delivered") \
    ROW (MARKS_UNKNOWN, "marks_unknown", \
         "times that something acknowledged was not there any more") \
    ROW (OFFERS_HELD, "offers_held", \
         "offers left unanswered because the disk has too little room") \
    ROW (COMMITS, "commits", "group commits of the ledger") \
    ROW (COMMITS_FAILED, "commits_failed", \
         "group commits that failed: disk full or faulty") \
    ROW (BUILDS, "builds", "results built") \
    ROW (BUILDS_FAILED, "builds_failed", "results that could not be built")

#define COUNTER_ENUM(id, name, help) COUNTER_##id,
enum counter { COUNTERS (COUNTER_ENUM) COUNTER_COUNT };
#undef COUNTER_ENUM

void counter_add (enum counter c, uint64_t n);
uint64_t counter_get (enum counter c);

/* Borrowed for ever. */
const char *counter_name (enum counter c);
const char *counter_help (enum counter c);

#endif
