/* aggregator/job_build/job_build_private.h - a job's build, between its files */
#ifndef ROLLCALL_JOB_BUILD_PRIVATE_H
#define ROLLCALL_JOB_BUILD_PRIVATE_H

#include "job_build/job_build.h"

#define SENDERS_NAMED 8                 // in the summary; the log names all

struct rank_fate {
    int64_t rank;
    char *host;                 // NULL: not known
    struct command_end command;
};

/* The parts of a shipment's struct ledger_item that a build needs. */
struct shipment_source {
    struct digest content;
    struct store_content chunks;
    int broken;                 // 0, or why there are none: a negative errno
    int64_t rank, newest_ns;
    char *capture;              // the memory of all three
    const char *dir, *host;
    bool superseded, lost;
    bool unread;                // the disk did not give its bytes, here or at
                                // rank 0
    bool counted;               // in job_build.unread
};

struct rank_gone {              // captures of a rank were removed on purpose
    int64_t rank, at_ns;        // the last time; 0: the rank has others
    char text[DELETION_TEXT_MAX];
};

struct job_build {
    struct job_build_options how;
    struct store *store;
    struct ledger *ledger;              // while it is created
    char job[MESSAGE_NAME_MAX];
    struct shipment_source *sources;    // by select_item.source
    struct select_item *items;
    size_t n;
    struct raw_tree *raw;               // NULL: no raw files
    int64_t world_size;                 // of the result; -1: it is a guess
    char *senders[SENDERS_NAMED];       // ranks whose key changed
    size_t nsenders;
    struct select_mpi *mpi;             // by rank
    size_t nmpi;
    struct rank_fate *fates;            // by rank, for ranks with a report
    size_t nfates;
    struct rank_gone *gone;             // by rank, each once
    size_t ngone;
    int64_t last;                       // the highest rank with a capture
    int64_t agreed;                     // world size on which all metadata
                                        // agree, or 0
    bool assumed;                       // without evidence that all captures
                                        // are of this job
    size_t left;                        // shipments with rows that do not count
    size_t fed;                         // those that do
    atomic_size_t unread;               // of these the disk did not give the rows
    atomic_bool cancelled;
    struct results results;
    struct build_state state;           // of the result, if it has a digest
    struct digest rows;                 // of the result
    bool rows_known;
    bool forget;                        // command and environment
    bool has_store;                     // the root, while others read, too
};

/* ---- job_sources.c ---- */

/* Find the shipments of the job: b->sources.  Then read what they say of their
 * captures: b->items, with so many threads; a shipment that cannot be read becomes
 * a failed capture.  Errors as job_build_create.
 */
int job_sources_list (struct job_build *b, struct ledger *ledger,
                      struct err *err);
int job_sources_look (struct job_build *b, unsigned threads, struct err *err);
void job_sources_free (struct job_build *b);

/* Whether it has rows, as far as is known before they are read. */
bool job_sources_has_rows (const struct select_item *item);

/* Read a shipment, through a source or from the store; one that is damaged there
 * once more, through 'again' (NULL: there is no other way); and if it is damaged
 * there, too, it becomes a failed capture, with a transient_error if the disk does
 * not give it.
 */
int job_build_feed_from (struct job_build *b, size_t source,
                         const struct byte_source *through,
                         const struct byte_source *again,
                         const struct row_sink *sink, struct capture *c,
                         struct err *err);

/* Complete a capture that was read, here or by another process.  -EIO: the disk
 * gave the rows of none.
 */
int job_build_took (void *arg, size_t source, struct capture *c,
                    struct err *err);

/* ---- job_roll.c ---- */

/* Read what the ledger says of ranks beside their shipments, which are listed
 * before: keys that changed, reports of MPI and of agents, what was removed.  As
 * the ledger.
 */
int job_roll_read (struct job_build *b, struct ledger *ledger, struct err *err);
void job_roll_free (struct job_build *b);

/* The world size on which the metadata of all captures agree, ignoring those
 * without one; or 0.  Called before captures without a rank get one.
 */
int64_t job_roll_agreed (const struct job_build *b);

/* Give items MPI's report on their rank, and the roster a note of each difference
 * and of each key that changed.
 */
void job_roll_note (struct job_build *b, struct roster *roster);

/* ---- others ---- */

/* job_member.c: functions of struct build_remote, for rank 0. */
int job_build_settings (void *arg, struct buf *out, struct err *err);
int job_build_order (void *arg, size_t source, struct buf *out,
                     struct err *err);
int job_build_bytes (void *arg, size_t source, void *out, size_t n, uint64_t at,
                     struct err *err);

/* job_versions.c: skip the versions of each capture that do not count. 0 or
 * -ENOMEM.
 */
int job_build_choose_versions (struct job_build *b, struct err *err);

/* Write into OUT/captures, or into OUT/captures/JOB if OUT/captures belongs to
 * another job: captures of two jobs may have the same name.
 */
int job_build_put_raw (struct job_build *b, const struct tree *out,
                       struct err *err);

#endif
