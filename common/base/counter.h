/* common/base/counter.h - count events of this process
 *
 * Every drop, refusal, retry and repair is counted under a name that `rollcall
 * status --json` prints.  A new counter needs only a row here.  Thread-safe.
 */
#ifndef ROLLCALL_BASE_COUNTER_H
#define ROLLCALL_BASE_COUNTER_H

#include <stdint.h>

// the third column documents a counter
#define COUNTERS(ROW) \
    ROW (MESSAGES_REFUSED, "messages_refused", \
         "malformed messages, and messages of unknown senders") \
    ROW (PEERS_REFUSED, "peers_refused", \
         "connections refused: wrong, missing or revoked key, or version") \
    ROW (SHARES_REFUSED, "shares_refused", \
         "jobs, agents, ranks or texts refused: no room for more of one key") \
    ROW (HOSTS_REFUSED, "hosts_refused", \
         "agents refused: their key is not bound to their host") \
    ROW (ACCEPTS_FAILED, "accepts_failed", \
         "connections refused: no descriptor was left") \
    ROW (OFFERS_REPEATED, "offers_repeated", "items offered again") \
    ROW (OFFERS_DEFERRED, "offers_deferred", \
         "offers put off, since too many wait") \
    ROW (AGENTS_STALLED, "agents_stalled", \
         "agents that were asked and did not answer in time") \
    ROW (CHUNKS_SENT, "chunks_sent", "chunks sent, repetitions included") \
    ROW (CHUNKS_TAKEN, "chunks_taken", "requested chunks that arrived") \
    ROW (CHUNKS_IGNORED, "chunks_ignored", \
         "chunks that were not requested, or arrived twice") \
    ROW (CHUNKS_DAMAGED, "chunks_damaged", "chunks that did not unpack") \
    ROW (ITEMS_SEALED, "items_sealed", "items put into the spool") \
    ROW (ITEMS_DURABLE, "items_durable", \
         "items acknowledged for the first time: delivered") \
    ROW (ITEMS_CONFIRMED, "items_confirmed", \
         "items delivered before, which aggregators were asked for and have") \
    ROW (ITEMS_GONE, "items_gone", \
         "items whose file changed or vanished before it was delivered") \
    ROW (BYTES_SENT, "bytes_sent", "bytes of chunks on the wire") \
    ROW (GETS_ASTRAY, "gets_astray", \
         "requests for chunks that do not exist, or beyond the limit") \
    ROW (NOTES_DROPPED, "notes_dropped", "sentences above their limit") \
    ROW (RAW_SKIPPED, "raw_skipped", \
         "raw files and directories left out: unreadable, too many, too late") \
    ROW (ITEMS_ENTERED, "items_entered", "new items in the ledger") \
    ROW (ITEMS_KNOWN, "items_known", "items that arrived a second time") \
    ROW (ITEMS_MISMATCHED, "items_mismatched", \
         "items that arrived with other content than offered") \
    ROW (ITEMS_QUARANTINED, "items_quarantined", "damaged items set aside") \
    ROW (DISK_FLOORS, "disk_floors", \
         "times that a disk had too little room and work stopped") \
    ROW (CAPTURES_HELD, "captures_held", \
         "times that a capture had to wait for room in the spool") \
    ROW (CAPTURES_REFUSED, "captures_refused", \
         "captures given up for lack of room (--when-full refuse)") \
    ROW (CAPTURES_RELEASED, "captures_released", \
         "captures removed after they were delivered whole") \
    ROW (RELEASES_REFUSED, "releases_refused", \
         "captures that stay because they differ from what was delivered") \
    ROW (MARKS_UNKNOWN, "marks_unknown", \
         "times that acknowledged data was missing") \
    ROW (OFFERS_HELD, "offers_held", \
         "offers left unanswered because the disk has too little room") \
    ROW (COMMITS, "commits", "group commits of the ledger") \
    ROW (COMMITS_FAILED, "commits_failed", \
         "group commits that failed: disk full or faulty") \
    ROW (BUILDS, "builds", "results built") \
    ROW (BUILDS_FAILED, "builds_failed", "results that could not be built")

#define COUNTER_ENUM(id, name, what) COUNTER_##id,
enum counter { COUNTERS (COUNTER_ENUM) COUNTER_COUNT };
#undef COUNTER_ENUM

void counter_add (enum counter c, uint64_t n);
uint64_t counter_get (enum counter c);

/* The name of a counter, a static text. */
const char *counter_name (enum counter c);

#endif
