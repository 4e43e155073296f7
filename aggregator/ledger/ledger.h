/* aggregator/ledger/ledger.h - the record of durable data
 *
 * SQLite, synchronous=FULL: a row is written only after its bytes were fsynced,
 * and an acknowledgement is sent only after its commit.  Each row has a
 * checksum, which is verified whenever it is read: -EBADMSG means a damaged
 * row, and rollcall fsck rebuilds the ledger.
 *
 * This folder: the aggregator's ledger: contents, items, senders, assignments,
 * claims of the number of ranks.
 */
#ifndef ROLLCALL_LEDGER_LEDGER_H
#define ROLLCALL_LEDGER_LEDGER_H

#include "ledger/ledger_deletions.h"
#include "ledger/ledger_facts.h"
#include "ledger/size_claims.h"
#include "net/message.h"

#include <limits.h>
#include <stdatomic.h>

#define LEDGER_WORLD_MAX (1 << 22)       // ranks of a job that a ledger may
                                         // have
#define LEDGER_SEGMENT_MAX INT64_C (999999999)  // the highest number: 256 PB of
                                                // segments

struct ledger;

/* How the bytes in a segment are a content: as a chunk, in the codec of that
 * number, or as a list of the ids of its chunks.
 */
enum ledger_form {
    FORM_PLAIN = CODEC_PLAIN,
    FORM_LZ4 = CODEC_LZ4,
    FORM_ZSTD = CODEC_ZSTD,
    FORM_LIST = 16,
};

/* Where the bytes of a content are. */
struct ledger_place {
    int64_t segment;            // from 1; 0: nowhere
    uint64_t offset, stored;    // the bytes in the segment
    uint64_t size;              // of the content
    enum ledger_form form;
};

struct ledger_item {
    char job[MESSAGE_NAME_MAX];         // its job; its scope if it is not
                                        // assigned to a job yet
    char scope[MESSAGE_NAME_MAX];       // under which it was sent, if the job's
                                        // id was not given; else "", like
    char dir[MESSAGE_PLACE_MAX];        // its place in the offer, see
                                        // ledger_assign
    enum item_kind kind;
    int64_t rank;
    char capture[MESSAGE_NAME_MAX];
    char path[MESSAGE_PATH_MAX];
    char host[MESSAGE_NAME_MAX];
    char who[NET_WHO_MAX];      // the key that sent it first; "": no key, or
                                // unknown
    struct digest content;
    int64_t rows;               // identifies its rows, whoever sent them:
                                // store_sum_rows; 0: unknown
    struct ledger_place place;
    int64_t received_ns;        // since 1970; 0: set when it is entered
    int64_t newest_ns;          // of its capture, from the OFFER
    struct file_facts facts;    // of a raw file
    int64_t seq;                // as it was entered; set when it is read
    bool superseded;            // a newer version of the same capture exists
    bool lost;                  // its content was damaged, and set aside
    bool shared_name;           // another rank of the job also has a capture
                                // with this name, rows or raw files
};

/* It has a place, and is not assigned to a job: 'job' is a scope, of any jobs. */
static inline bool ledger_is_open (const struct ledger_item *i)
{
    return *i->dir && strcmp (i->job, i->scope) == 0;
}

/* The host of a key whose file names none: the first host that the key was used
 * for.
 */
struct ledger_bound {
    char who[NET_WHO_MAX], host[MESSAGE_NAME_MAX];
    int64_t since_ns;                   // since 1970
};

/* The sender of a rank's rows, and the former one if another key sent newer
 * rows, else "".
 */
struct ledger_sender {
    int64_t rank;
    char who[NET_WHO_MAX], host[MESSAGE_NAME_MAX];
    char former[NET_WHO_MAX], former_host[MESSAGE_NAME_MAX];
};

/* What the agent of a rank reports about it, kept for the time when the agent
 * is gone.
 */
struct ledger_heard {
    int64_t rank;
    int64_t mpi_rank, mpi_size; // rank and size that MPI reports for its
                                // process; size 0: nothing was reported
    char host[MESSAGE_NAME_MAX];        // of its agent; "": unknown
    struct command_end command; // how its COMMAND ended; ns 0: unknown
};

#define LEDGER_WHY_MAX 256

/* The assignment of a version of a capture to a job. */
#define LEDGER_BY_HAND "by hand"

struct ledger_assignment {
    char scope[MESSAGE_NAME_MAX];       // these five identify the version
    char dir[MESSAGE_PLACE_MAX];
    int64_t rank;
    char capture[MESSAGE_NAME_MAX];
    int64_t newest_ns;
    char job[MESSAGE_NAME_MAX];
    int64_t at_ns;                      // when, since 1970
    bool assumed;                       // without evidence that it belongs to
                                        // this job
    char why[LEDGER_WHY_MAX];           // a sentence for people; "" or
                                        // LEDGER_BY_HAND
};

/* A job, and how far its result goes. */
struct ledger_job {
    char id[MESSAGE_NAME_MAX];
    int64_t newest;             // its last item
    int64_t built;              // the last item in its result, 0: there is none
    struct digest rows;         // of its result (publish/rows_digest.h); zeros:
                                // unknown
};

/* Totals of a job. */
struct ledger_summary {
    int64_t items, captures, ranks;     // without superseded items
    uint64_t bytes;
    int64_t first_ns, last_ns;          // received, since 1970
    int64_t lost;                       // items whose content was set aside
    int64_t world_size;                 // 0: unknown
    int64_t divided, assumed, by_hand;  // versions that were assigned to it;
                                        // of these, without evidence, and by a
                                        // person
};

/* The clock of an agent's host against ours, as it measured it. */
struct ledger_clock {
    char host_key[MESSAGE_NAME_MAX], host[MESSAGE_NAME_MAX];
    int64_t offset_ns, error_ns;        // ours minus its own; the largest
                                        // possible error
};

/* Whether the values are valid, apart from their checksum: paths made of the
 * names stay below their directory, and sizes are possible for a file.
 */
bool ledger_valid_item (const struct ledger_item *item);       // without place
bool ledger_valid_place (const struct ledger_place *place);
bool ledger_valid_form (const struct ledger_place *place);      // and sizes
bool ledger_valid_assignment (const struct ledger_assignment *a);
bool ledger_valid_bound (const struct ledger_bound *b);

/* Open or create a ledger for writing.  The caller has the root's lock.
 * Everything in it is verified: -EBADMSG.  -ENOTSUP: another version.
 */
int ledger_open (const char *path, struct ledger **ret, struct err *err);

/* Open an existing one for reading while another process writes; reads see the
 * current state until ledger_end_read.  -ENOENT: there is none.
 */
int ledger_open_read (const char *path, struct ledger **ret, struct err *err);

/* The same without verifying all of a large ledger first: for lists of jobs.  A
 * small one (LEDGER_QUICK_BYTES, which takes 0.02 s) is verified.  Claims and
 * facts that are read are checked in any case.
 */
#define LEDGER_QUICK_BYTES (INT64_C (1) << 20)
int ledger_open_quick (const char *path, struct ledger **ret, struct err *err);

/* From now on its queries fail soon after *cancel is true. */
void ledger_cancel (struct ledger *l, const atomic_bool *cancel);
void ledger_close (struct ledger *l);           // l may be NULL

/* Copy it, as it is after its last commit, to the file 'path', which is replaced
 * and fsynced: -ENOSPC, -EIO.  Others may write to the ledger meanwhile.
 */
int ledger_copy (struct ledger *l, const char *path, struct err *err);

/* Whether the open files still have their names: false if one was removed or
 * replaced.  Then acknowledge nothing, since no other or later process sees
 * what is written.
 */
bool ledger_is_there (struct ledger *l);

/* Restore it, not in a transaction: all of it can still be read here, even what
 * segments do not have.  A file that has its name by now is set aside: its path
 * is in 'aside', or "".  -ENOSPC, -EIO: nothing was done, try again.  -ENODEV:
 * it was restored, but only a new process can open it.
 */
int ledger_put_back (struct ledger *l, char aside[PATH_MAX], struct err *err);

/* End reading, so that the writer's journal does not grow; the next read begins
 * again.
 */
void ledger_end_read (struct ledger *l);
int ledger_begin_read (struct ledger *l, struct err *err);

/* Begin, commit or roll back a transaction. */
int ledger_begin (struct ledger *l, struct err *err);
int ledger_commit (struct ledger *l, struct err *err);
void ledger_rollback (struct ledger *l);

/* Commit after 'rc', or roll back if that or the commit failed: 'rc', or why
 * the commit failed.
 */
int ledger_finish (struct ledger *l, int rc, struct err *err);

/* Find a chunk, or a content of several, all of which are here: 1 and its
 * place, 0 if it is absent; -EBADMSG, -EIO.
 */
int ledger_find_content (struct ledger *l, const struct digest *content,
                         struct ledger_place *ret, struct err *err);

/* Enter content.  If it had been lost (a check set it aside before the ledger
 * was opened), all its items become the newest ones of their jobs, which marks
 * results without it as outdated.
 */
int ledger_add_content (struct ledger *l, const struct digest *content,
                        const struct ledger_place *place, struct err *err);
int ledger_drop_content (struct ledger *l, const struct digest *content,
                         struct err *err);

/* The first segment after *segment, and its committed end, 0 if only contents say
 * that it is there: 1, 0.  Its chunks and lists, in the order of their places.
 */
int ledger_next_segment (struct ledger *l, int64_t *segment, uint64_t *end,
                         struct err *err);
int ledger_each_stored (struct ledger *l, int64_t segment,
                        int (*fn) (void *arg, const struct digest *id,
                                   const struct ledger_place *place),
                        void *arg, struct err *err);

/* List the contents of several chunks, in the order of their ids. */
int ledger_each_list (struct ledger *l,
                      int (*fn) (void *arg, const struct digest *id,
                                 const struct ledger_place *place),
                      void *arg, struct err *err);

/* The content and place of each item that is here, the first item first, with
 * its job, kind, rank and time of arrival, and nothing else.
 */
int ledger_each_content (struct ledger *l,
                         int (*fn) (void *arg, const struct ledger_item *item),
                         void *arg, struct err *err);

/* Whether the item is already entered with this content, superseded or not: 1;
 * 0: it has to be entered.
 */
int ledger_has_item (struct ledger *l, const struct ledger_item *item,
                     struct err *err);

/* Enter an item whose content is here: 1.  Repeating it changes only when it
 * arrived last: 0, also if it now belongs to a newer version of its capture.  Of items with
 * different content the one with the latest newest_ns counts, then the last one
 * to arrive (received_ns).  An item that arrived (received_ns) before a deletion
 * of its version, or its withdrawal, is not entered: 0.
 */
int ledger_add_item (struct ledger *l, const struct ledger_item *item,
                     struct err *err);

/* Set the checksum of rows (ledger_item.rows) of items that have a key and no
 * such checksum, to what 'fn' says, 0: unknown.
 */
int ledger_sum_rows (struct ledger *l,
                     int64_t (*fn) (void *arg, const struct ledger_item *item),
                     void *arg, struct err *err);

/* Items with a scope and a place arrive without a known job: scope, place,
 * rank, name and date identify each version of a capture, and none supersedes
 * another.  This assigns one version to a job, with its present and future raw
 * files: then the newest of the job's versions of that place, rank and name
 * counts.  It may move from another job.  Results of both must be rebuilt.  1,
 * or 0 if it was assigned to that job already: then the later time counts.
 */
int ledger_assign (struct ledger *l, const struct ledger_assignment *a,
                   struct err *err);

/* Set the job of an item with a place: its version's job, or else its scope. */
int ledger_choose_job (struct ledger *l, struct ledger_item *item,
                       struct err *err);

/* The assignment of the version that the first five members of 'a' name: 1, or
 * 0 if there is none.
 */
int ledger_find_assignment (struct ledger *l, struct ledger_assignment *a,
                            struct err *err);

/* All assignments to a job, or to any (NULL). */
int ledger_each_assignment (struct ledger *l, const char *job,
                            int (*fn) (void *arg,
                                       const struct ledger_assignment *a),
                            void *arg, struct err *err);

/* List all rows of a scope, of any job, oldest first; whether there are any; and
 * count the rows that are not assigned yet.
 */
int ledger_each_of_scope (struct ledger *l, const char *scope,
                          int (*fn) (void *arg,
                                     const struct ledger_item *item),
                          void *arg, struct err *err);
bool ledger_has_scope (struct ledger *l, const char *scope);
int64_t ledger_count_open (struct ledger *l, const char *scope);

/* Whether a job has items, or ever had any assigned. */
bool ledger_has_job (struct ledger *l, const char *job);

/* Jobs that had captures assigned, or removed on purpose, and have none left. */
int ledger_each_empty_job (struct ledger *l,
                           int (*fn) (void *arg, const char *job), void *arg,
                           struct err *err);

/* The job and kind of items, of any job, whose lost content was added since the
 * last call: all else of 'item' is empty.  Not in a transaction.
 */
int ledger_each_restored (struct ledger *l,
                          void (*fn) (void *arg,
                                      const struct ledger_item *item),
                          void *arg, struct err *err);

/* All items of a job and kind, oldest first.  Stops when 'fn' is negative. */
int ledger_each (struct ledger *l, const char *job, enum item_kind kind,
                 int (*fn) (void *arg, const struct ledger_item *item),
                 void *arg, struct err *err);

/* The rows of a rank that count: of each capture those of its newest version.
 * Oldest first; stops when 'fn' is negative.
 */
int ledger_each_of_rank (struct ledger *l, const char *job, int64_t rank,
                         int (*fn) (void *arg, const struct ledger_item *item),
                         void *arg, struct err *err);

/* A claim of how many ranks a job has is kept until its source makes another
 * one.  If it changes the number that counts, the job's result must be rebuilt.
 * Return that number (size_claims_settle; 0: none), and all claims, in the
 * order of struct size_claims.
 */
int ledger_set_claim (struct ledger *l, const char *job,
                      const struct size_claim *word, struct err *err);
int ledger_each_claim (struct ledger *l, const char *job,
                       int (*fn) (void *arg, const struct size_claim *word),
                       void *arg, struct err *err);
int ledger_size_claims (struct ledger *l, const char *job,
                        struct size_claims *ret,
                        struct err *err);       // all of them, noted
int64_t ledger_world_size (struct ledger *l, const char *job);

/* A result is built of the items of kinds up to 'last'.  The newest one of a
 * job (0: none), a record that a result has all up to 'seq' (0: rebuild it) and
 * these rows (NULL: unknown), and all jobs with such items.  Before a result is
 * replaced, its rows have to be forgotten: if whoever builds is killed between
 * the new result and its record, the new one is not taken for damaged.
 */
int64_t ledger_newest (struct ledger *l, const char *job, enum item_kind last);
int ledger_set_built (struct ledger *l, const char *job, int64_t seq,
                      const struct digest *rows, struct err *err);
int ledger_forget_rows (struct ledger *l, const char *job, struct err *err);
bool ledger_knows_rows (const struct ledger_job *j);    // no: build it again
int ledger_each_job (struct ledger *l, enum item_kind last,
                     int (*fn) (void *arg, const struct ledger_job *job),
                     void *arg, struct err *err);

/* What a ledger has, in short: if two are equal, nothing has changed between
 * them but notes that are neither verified nor restored.
 */
struct ledger_stamp {
    int64_t file;               // its inode
    int64_t rows, sum;          // of all items, jobs, assignments, facts and
                                // deletions
    int64_t items, facts;       // the last seq of items and deletions; of facts
    int64_t lost;               // the epoch of the last loss of content
};
int ledger_stamp (struct ledger *l, struct ledger_stamp *ret, struct err *err);

/* The jobs with items, deletions or facts after those of 'since', some of them
 * repeatedly; and each job that has a world size, was built, or got or lost a
 * capture by an assignment, with the checksum of all that is noted of it: another
 * one after each of these, once the job is built again.
 */
int ledger_each_changed (struct ledger *l, const struct ledger_stamp *since,
                         int (*fn) (void *arg, const char *job), void *arg,
                         struct err *err);
int ledger_each_state (struct ledger *l,
                       int (*fn) (void *arg, const char *job, int64_t sum),
                       void *arg, struct err *err);

/* The last item in a job's result; 0: there is none. */
int64_t ledger_built (struct ledger *l, const char *job);

/* The checksum of ledger_each_state; 0: it does not have the job. */
int64_t ledger_state_sum (struct ledger *l, const char *job);

int ledger_summary (struct ledger *l, const char *job,
                    struct ledger_summary *ret, struct err *err);

/* Set the accounted end of a segment; and get the last segment with its end (0:
 * there is none).
 */
int ledger_set_segment (struct ledger *l, int64_t segment, uint64_t end,
                        struct err *err);
int ledger_last_segment (struct ledger *l, int64_t *segment, uint64_t *end,
                         struct err *err);
/* The last segment with a content; 0: none. */
int64_t ledger_last_used (struct ledger *l);

/* List every segment that must exist, in order, with its minimum size. */
int ledger_each_segment (struct ledger *l,
                         int (*fn) (void *arg, int64_t segment, uint64_t end),
                         void *arg, struct err *err);

/* Drop lost content, in a transaction: that of a segment after 'from' (and the
 * segment, if that is 0), or one (ledger_drop_content).  Then ledger_note_loss
 * calls 'fn' for each current item that lost its content: 1 if any did, or 0.
 * After the commit call ledger_begin_epoch: ledger_lost_since then names the
 * agents that must deliver again.
 */
int ledger_lose_segment (struct ledger *l, int64_t segment, uint64_t from,
                         struct err *err);
int ledger_note_loss (struct ledger *l,
                      void (*fn) (void *arg, const struct ledger_item *item),
                      void *arg, struct err *err);

/* Whether data that agents of this host had delivered under this job (or scope)
 * was lost since this mark, and has not arrived again: 1, 0.
 */
int ledger_lost_since (struct ledger *l, const struct ledger_mark *mark,
                       const char *job, const char *host, struct err *err);

/* An acknowledgement carries the mark of its commit, which the agent shows to
 * later aggregators: 1 if the ledger still has all data of that commit, 0 if it
 * is another ledger, or an older one from a backup.  An aggregator begins an
 * epoch with a random number when it starts, and an epoch ends where the next
 * one begins: so a ledger that went back in time is detected even when it grows
 * again. (As Kafka's leader epochs: KIP-101.) It is entered within the
 * transaction of what is acknowledged; repeating it is fine.  A mark that no
 * agent got takes no row.
 */
int ledger_begin_epoch (struct ledger *l, struct err *err);
int ledger_enter_epoch (struct ledger *l, struct err *err);
struct ledger_mark ledger_mark (const struct ledger *l);
int ledger_reaches (struct ledger *l, const struct ledger_mark *mark,
                    struct err *err);

/* The host that a key is bound to: 1, or 0 for none. ledger_bind does not
 * change an existing binding.
 */
int ledger_find_bound (struct ledger *l, const char *who,
                       struct ledger_bound *ret, struct err *err);
int ledger_bind (struct ledger *l, const struct ledger_bound *b,
                 struct err *err);
int ledger_each_bound (struct ledger *l,
                       int (*fn) (void *arg, const struct ledger_bound *b),
                       void *arg, struct err *err);

/* The ranks of a job whose rows came from more than one key, in order: the last
 * key, and the last different one before it.  Repeated rows do not count.  1:
 * this rank is one of them; 0.
 */
int ledger_each_sender (struct ledger *l, const char *job,
                        int (*fn) (void *arg, const struct ledger_sender *s),
                        void *arg, struct err *err);
int ledger_changed_sender (struct ledger *l, const char *job, int64_t rank,
                           struct ledger_sender *ret, struct err *err);
void ledger_sender_text (const struct ledger_sender *s, char *out,
                         size_t size);

/* The reports on a job's ranks, in order.  The last one of each counts; one
 * without MPI or the end of COMMAND does not erase those of earlier ones.
 */
int ledger_set_heard (struct ledger *l, const char *job,
                      const struct ledger_heard *heard, struct err *err);
int ledger_each_heard (struct ledger *l, const char *job,
                       int (*fn) (void *arg, const struct ledger_heard *heard),
                       void *arg, struct err *err);

/* Clocks of a job's hosts. */
int ledger_set_clock (struct ledger *l, const char *job,
                      const struct ledger_clock *clock, struct err *err);
int ledger_each_clock (struct ledger *l, const char *job,
                       int (*fn) (void *arg, const struct ledger_clock *clock),
                       void *arg, struct err *err);

#endif
