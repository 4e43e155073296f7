/* aggregator/ledger/ledger.h - what is known to be durable here
 *
 * SQLite, synchronous=FULL: a row is in it only after the bytes that it speaks
 * of were fsynced, and an acknowledgement is sent only after its commit.  Rows
 * carry a checksum of ours, which is verified whenever they are read: -EBADMSG
 * says that a row is damaged, and rollcall fsck makes the ledger again.
 *
 * This folder: the aggregator's ledger: contents, items, senders,
 * assignments, claims of how many ranks there are.
 */
#ifndef ROLLCALL_LEDGER_LEDGER_H
#define ROLLCALL_LEDGER_LEDGER_H

#include "ledger/size_claims.h"
#include "net/message.h"

#include <limits.h>

#define LEDGER_WORLD_MAX (1 << 22)       // that an earlier version took
#define LEDGER_SEGMENT_MAX INT64_C (999999999)  // its number: 256 PB of them

struct ledger;

/* Where a content's bytes are: in a segment, or in a file of their own. */
struct ledger_place {
    int64_t segment;            // 0: a blob
    uint64_t offset;
    uint64_t size;
};

struct ledger_item {
    char job[MESSAGE_NAME_MAX];         // that it is of; of one that is not
                                        // given to a job yet, its scope
    char scope[MESSAGE_NAME_MAX];       // what it was sent under, if the id of
                                        // its job was not given; else "", as
    char dir[MESSAGE_PLACE_MAX];        // the place that it was offered with,
                                        // see ledger_assign
    enum item_kind kind;
    int64_t rank;
    char capture[MESSAGE_NAME_MAX];
    char path[MESSAGE_PATH_MAX];
    char host[MESSAGE_NAME_MAX];
    char who[NET_WHO_MAX];      // whose key sent it first; "": none, not known
    struct digest content;
    int64_t rows;               // tells its rows from others, whoever sent
                                // them: store_sum_rows; 0: not known
    struct ledger_place place;
    int64_t received_ns;        // since 1970; 0: now, when it is entered
    int64_t newest_ns;          // of its capture, as in an OFFER
    bool superseded;            // there is a newer version of the same capture
    bool lost;                  // its content was damaged, and set aside
    bool shared_name;           // another rank has a capture of this name, too
};

/* The host that a key speaks for whose file does not say for which: the first
 * one that it spoke for.
 */
struct ledger_bound {
    char who[NET_WHO_MAX], host[MESSAGE_NAME_MAX];
    int64_t since_ns;                   // since 1970
};

/* Whose rows a rank's are, and whose they were before another key sent newer
 * ones: then 'former' is not "".
 */
struct ledger_sender {
    int64_t rank;
    char who[NET_WHO_MAX], host[MESSAGE_NAME_MAX];
    char former[NET_WHO_MAX], former_host[MESSAGE_NAME_MAX];
};

/* What the agent of a rank says of it: nobody else knows when it is gone. */
struct ledger_heard {
    int64_t rank;
    int64_t mpi_rank, mpi_size; // which of how many its process is, by MPI's
                                // own word; size 0: it has said nothing
    char host[MESSAGE_NAME_MAX];        // of its agent; "": not known
    struct command_end command; // how its COMMAND ended; ns 0: not known
};

#define LEDGER_WHY_MAX 256

/* A version of a capture was given to a job. */
#define LEDGER_BY_HAND "by hand"

struct ledger_assignment {
    char scope[MESSAGE_NAME_MAX];       // these five are the version
    char dir[MESSAGE_PLACE_MAX];
    int64_t rank;
    char capture[MESSAGE_NAME_MAX];
    int64_t newest_ns;
    char job[MESSAGE_NAME_MAX];
    int64_t at_ns;                      // when, since 1970
    bool assumed;                       // nothing says that it is of this job,
                                        // only that it may be
    char why[LEDGER_WHY_MAX];           // for people; "", LEDGER_BY_HAND
};

/* A job, and how far its result is behind. */
struct ledger_job {
    char id[MESSAGE_NAME_MAX];
    int64_t newest;             // its last item
    int64_t built;              // the last one that a result has, 0: none
};

/* What there is of a job, in numbers. */
struct ledger_summary {
    int64_t items, captures, ranks;     // that are not superseded
    uint64_t bytes;
    int64_t first_ns, last_ns;          // received, since 1970
    int64_t lost;                       // items whose content was set aside
    int64_t world_size;                 // 0: nobody has said
    int64_t divided, assumed, by_hand;  // versions that were given to it, and
                                        // those of them that may be another's,
                                        // and that a person has given
};

/* The clock of an agent's host against ours, as it measured it. */
struct ledger_clock {
    char host_key[MESSAGE_NAME_MAX], host[MESSAGE_NAME_MAX];
    int64_t offset_ns, error_ns;        // ours minus its own; at most so wrong
};

/* Whether these can be what an agent offered and the store took: names that
 * stay below the place that is made of them, bytes that a file can have.  A
 * checksum does not say so.
 */
bool ledger_valid_item (const struct ledger_item *item);       // without place
bool ledger_valid_place (const struct ledger_place *place);
bool ledger_valid_segment (int64_t segment, uint64_t end);
bool ledger_valid_job (const char *id, int64_t world_size);
bool ledger_valid_assignment (const struct ledger_assignment *a);
bool ledger_valid_bound (const struct ledger_bound *b);

/* Open or make a ledger, to write; one of an older version becomes one of ours.
 * The caller has the root's lock.  Everything in it is verified: -EBADMSG.
 * -ENOTSUP: it is of another version.
 */
int ledger_open (const char *path, struct ledger **ret, struct err *err);

/* Open one that is there, to read beside the process that writes to it; what
 * is read is as of now, until ledger_end_read.  -ENOENT: there is none.
 */
int ledger_open_read (const char *path, struct ledger **ret, struct err *err);
void ledger_close (struct ledger *l);           // l may be NULL

/* Whether the files that are written to still have their names: false if one of
 * them was removed, or another one is in its place.  Then nothing may be
 * acknowledged, since no other process, and no next life, sees what is written.
 */
bool ledger_is_there (struct ledger *l);

/* Put it back, not in a transaction: all of it can still be read here, also
 * what no segment tells.  What has its name by now is set aside: its path is in
 * 'aside', or "".  -ENOSPC, -EIO: nothing was done, it may be tried again.
 * -ENODEV: it was put back and cannot be opened: only a next life can.
 */
int ledger_put_back (struct ledger *l, char aside[PATH_MAX], struct err *err);

/* Let go of what is being read, so that the writer's journal does not grow,
 * and take it up again.
 */
void ledger_end_read (struct ledger *l);
int ledger_begin_read (struct ledger *l, struct err *err);

/* One transaction around what follows. */
int ledger_begin (struct ledger *l, struct err *err);
int ledger_commit (struct ledger *l, struct err *err);
void ledger_rollback (struct ledger *l);

/* 1 and the place, or 0 when the content is not here; -EBADMSG, -EIO. */
int ledger_find_content (struct ledger *l, const struct digest *content,
                         struct ledger_place *ret, struct err *err);

/* Content is here.  If it had been lost (a check set it aside before the ledger
 * was opened) its items become the newest ones of their jobs, all of them, so
 * that results without it are known to be behind.
 */
int ledger_add_content (struct ledger *l, const struct digest *content,
                        const struct ledger_place *place, struct err *err);
int ledger_drop_content (struct ledger *l, const struct digest *content,
                         struct err *err);

/* 1 when this item says nothing new: it is entered with this content, and
 * counts or was superseded; 0 when it is to be entered.
 */
int ledger_has_item (struct ledger *l, const struct ledger_item *item,
                     struct err *err);

/* Enter an item whose content is here: 1.  The same one again changes nothing:
 * 0, also when it belongs to a newer version of its capture now.  Of several
 * with other content the one with the latest newest_ns counts, and of those
 * the last one that came.
 */
int ledger_add_item (struct ledger *l, const struct ledger_item *item,
                     struct err *err);

/* Items that have a scope and a place are of jobs that are not known when they
 * come: each version of a capture is then told from all others by scope, place,
 * rank, name and date, and none supersedes another.  This gives one of them to
 * a job, its raw files too, also those that come later: from then on of the
 * versions of that place, rank and name that the job has the newest counts.
 * What was given to another job before moves.  Results of both are to be built
 * again.  1, or 0 if it was given to that job already.
 */
int ledger_assign (struct ledger *l, const struct ledger_assignment *a,
                   struct err *err);

/* The job of an item that came with a place: what its version was given to, or
 * else its scope.
 */
int ledger_choose_job (struct ledger *l, struct ledger_item *item,
                       struct err *err);

/* What a version was given to: 1, or 0 if it was not yet.  The first five
 * members of 'a' say which.
 */
int ledger_find_assignment (struct ledger *l, struct ledger_assignment *a,
                            struct err *err);

/* All that was given to a job, or to any (NULL). */
int ledger_each_assignment (struct ledger *l, const char *job,
                            int (*fn) (void *arg,
                                       const struct ledger_assignment *a),
                            void *arg, struct err *err);

/* All rows of a scope, whatever job they were given to, oldest first; and how
 * many of them are given to none yet.
 */
int ledger_each_of_scope (struct ledger *l, const char *scope,
                          int (*fn) (void *arg,
                                     const struct ledger_item *item),
                          void *arg, struct err *err);
int64_t ledger_count_open (struct ledger *l, const char *scope);

/* Whether a job has items, or had any given to it. */
bool ledger_has_job (struct ledger *l, const char *job);

/* Jobs that had captures given to them and have none any more. */
int ledger_each_empty_job (struct ledger *l,
                           int (*fn) (void *arg, const char *job), void *arg,
                           struct err *err);

/* The job and kind of items, of any job, whose lost content was added since the
 * last question: all else of 'item' is empty.  Not in a transaction.
 */
int ledger_each_restored (struct ledger *l,
                          void (*fn) (void *arg,
                                      const struct ledger_item *item),
                          void *arg, struct err *err);

/* All items of a job and kind, oldest first.  Stops when 'fn' is negative. */
int ledger_each (struct ledger *l, const char *job, enum item_kind kind,
                 int (*fn) (void *arg, const struct ledger_item *item),
                 void *arg, struct err *err);

/* How many ranks a job has, and who says so: a word holds for later lives until
 * the same says another one.  If by it another number counts the job's result
 * is to be built again.  The number (size_claims_settle; 0 when nobody says),
 * and all words, in the order of struct size_claims.
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

/* What a result has to be built of: the items of kinds up to 'last'.  The
 * newest one of a job (0: none), the note that a result has all up to 'seq' (0:
 * it is to be built again), and all jobs that have such items.
 */
int64_t ledger_newest (struct ledger *l, const char *job, enum item_kind last);
int ledger_set_built (struct ledger *l, const char *job, int64_t seq,
                      struct err *err);
int ledger_each_job (struct ledger *l, enum item_kind last,
                     int (*fn) (void *arg, const struct ledger_job *job),
                     void *arg, struct err *err);

int ledger_summary (struct ledger *l, const char *job,
                    struct ledger_summary *ret, struct err *err);

/* How much of a segment is accounted for, and the last one: 0 when there is
 * none (also in a ledger of version 1, whose segments have no records).
 */
int ledger_set_segment (struct ledger *l, int64_t segment, uint64_t end,
                        struct err *err);
int ledger_last_segment (struct ledger *l, int64_t *segment, uint64_t *end,
                         struct err *err);
/* The last segment that a content is in, whatever the version; 0: none. */
int64_t ledger_last_used (struct ledger *l);

/* Every segment that there has to be, in order, with its size at least; and
 * blobs behind 'after', so many at the most, by their ids.
 */
int ledger_each_segment (struct ledger *l,
                         int (*fn) (void *arg, int64_t segment, uint64_t end),
                         void *arg, struct err *err);
int ledger_each_blob (struct ledger *l, const struct digest *after,
                      unsigned most,
                      int (*fn) (void *arg, const struct digest *id,
                                 uint64_t size),
                      void *arg, struct err *err);

/* Content is not there any more, in a transaction: what a segment has behind
 * 'from' (and the segment, if that is 0), or one (ledger_drop_content).  Then
 * ledger_note_loss, which calls 'fn' for each item that counts and has lost its
 * content by that: 1 if any has, or 0.  After the commit ledger_begin_epoch:
 * what was acknowledged before it is lost to those whom ledger_lost_since names.
 */
int ledger_lose_segment (struct ledger *l, int64_t segment, uint64_t from,
                         struct err *err);
int ledger_note_loss (struct ledger *l,
                      void (*fn) (void *arg, const struct ledger_item *item),
                      void *arg, struct err *err);

/* Whether something was lost since this mark that agents of this host had
 * delivered under this job (or scope), and has not come again: 1, 0.
 */
int ledger_lost_since (struct ledger *l, const struct ledger_mark *mark,
                       const char *job, const char *host, struct err *err);

/* Content on its way in: the hashes of its chunks [first, first+n), which are
 * on the disk; all of them, 1, or 0 when there are none; and the end of it.
 */
int ledger_add_incoming (struct ledger *l, const struct digest *content,
                         uint64_t size, const struct content_hash *chunks,
                         size_t first, struct err *err);
int ledger_find_incoming (struct ledger *l, const struct digest *content,
                          uint64_t size, struct content_hash *chunks,
                          struct err *err);
bool ledger_knows_incoming (struct ledger *l, const struct digest *content);
int ledger_drop_incoming (struct ledger *l, const struct digest *content,
                          struct err *err);

/* Forget what nobody has sent more of since 'before_ns' (since 1970). */
int ledger_drop_older_incoming (struct ledger *l, int64_t before_ns,
                                struct err *err);

/* Who is told that something is durable is told the mark of that commit, and
 * says it to later lives of the aggregator: 1 when everything that the ledger
 * had then is in it, 0 when it is another ledger, or an older one, that of a
 * backup.  An aggregator begins an epoch when it starts, of which the number is
 * random, and an epoch ends where the next one begins: so it does not help a
 * ledger that went back in time to grow again.  (As leader epochs do it for
 * replicas in Kafka: KIP-101.)  It is entered within the transaction of what is
 * acknowledged; again is fine.  One that nobody was told of takes no row: old
 * ones are forgotten for it.
 */
int ledger_begin_epoch (struct ledger *l, struct err *err);
int ledger_enter_epoch (struct ledger *l, struct err *err);
struct ledger_mark ledger_mark (const struct ledger *l);
int ledger_reaches (struct ledger *l, const struct ledger_mark *mark,
                    struct err *err);

/* To which host a key is bound: 1, or 0 when it is to none.  One that is bound
 * stays so: ledger_bind changes nothing then.
 */
int ledger_find_bound (struct ledger *l, const char *who,
                       struct ledger_bound *ret, struct err *err);
int ledger_bind (struct ledger *l, const struct ledger_bound *b,
                 struct err *err);
int ledger_each_bound (struct ledger *l,
                       int (*fn) (void *arg, const struct ledger_bound *b),
                       void *arg, struct err *err);

/* The ranks of a job whose rows came of more than one key, in order: the last
 * one, and the one before it that was another.  The same rows are not another's
 * because they came again.  1: this rank is one of them; 0.
 */
int ledger_each_sender (struct ledger *l, const char *job,
                        int (*fn) (void *arg, const struct ledger_sender *s),
                        void *arg, struct err *err);
int ledger_changed_sender (struct ledger *l, const char *job, int64_t rank,
                           struct ledger_sender *ret, struct err *err);
void ledger_sender_text (const struct ledger_sender *s, char *out,
                         size_t size);

/* What was heard of a job's ranks, in order.  The last word of each counts; one
 * that says nothing of MPI, or of the end of COMMAND, takes nothing back of what
 * was said of it before.
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
