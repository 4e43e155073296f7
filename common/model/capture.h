/* common/model/capture.h - one profiler output of one rank
 *
 * Everything about a capture except its rows: where it came from, which rank
 * wrote it, which communicator groups it knows, and whether all of it was read.
 */
#ifndef ROLLCALL_MODEL_CAPTURE_H
#define ROLLCALL_MODEL_CAPTURE_H

#include "base/err.h"
#include "json/json.h"
#include "model/evidence.h"
#include "model/rank_list.h"

#include <stdint.h>

#define CAPTURE_NAME_MAX 256            // a directory's name
#define CAPTURE_TEXT_MAX 64             // level, framework
#define CAPTURE_SOURCE_MAX 256
#define CAPTURE_REASON_MAX 768
#define CAPTURE_HASH_MAX 24             // decimal digits of 64 bits
#define CAPTURE_GROUPS_MAX 4096         // groups of one rank
// the most ranks of a job, unless --max-ranks says more: few clusters have as
// many devices, and a roster of this size takes less than 100 MB, so a wrong
// claim does no harm
#define CAPTURE_WORLD_DEFAULT (1 << 17)
// the most that --max-ranks may say: ids of captures tell so many ranks apart
// (select/capture_select.h), and all integers of ranks are larger
#define CAPTURE_WORLD_LIMIT 999999
#define CAPTURE_STEPS_MAX 8192          // steps of one capture that are listed
#define CAPTURE_NO_RANK (-1)
#define CAPTURE_NO_DEVICE (-1)

/* The most ranks of a job: larger numbers are refused where they are new: in
 * options, files of profilers and messages.  What is stored is valid up to
 * CAPTURE_WORLD_LIMIT, as it was stored by a process that had its own maximum.
 * It is set before any thread starts.
 */
extern int64_t capture_world_max;

/* The option --max-ranks, for a struct with this member. */
#define MAX_RANKS_OPTION(type, member) \
    { "max-ranks", 0, OPTION_INT, offsetof (type, member), "N", "131072", \
      "ROLLCALL_MAX_RANKS", 1, CAPTURE_WORLD_LIMIT, \
      "Refuse ranks from N on, and larger numbers of ranks, whoever says them. " \
      "Each expected rank takes 200 bytes, its capture 6 KiB in a build.", NULL }

enum capture_state {
    CAPTURE_COLLECTING,         // the profiler is still at it
    CAPTURE_RAW,                // never analysed
    CAPTURE_ANALYSING,          // results begun, not ended
    CAPTURE_COMPLETE,
    CAPTURE_PARTIAL,            // some is absent or damaged: see the reason
    CAPTURE_FAILED,             // nothing could be read: see the reason
    CAPTURE_SUPERSEDED,         // came again with other content
    CAPTURE_UNEXPECTED,         // of no rank, though not alone
    CAPTURE_STATES
};

const char *capture_state_name (enum capture_state s);
int capture_state_parse (const char *name, enum capture_state *ret);

/* One communicator group that this capture's rank belongs to. */
struct comm_group {
    char name[CAPTURE_HASH_MAX];        // hash of 'id', decimal text
    char *id;                           // the communicator's name
    char *pg_name;                      // what the program calls it
    int32_t *members;                   // global ranks, by group rank
    uint32_t nmembers;
    struct rank_list *list;             // that has them; NULL: they are its own
};

/* Groups that are kept once for all captures that name them. */
struct group_list {
    const struct comm_group **list;     // owned; what it points to is not
    uint32_t n;
};

struct capture {
    int64_t rank;                       // CAPTURE_NO_RANK: none
    int64_t device_id;                  // CAPTURE_NO_DEVICE: unknown
    int64_t world_size;                 // 0: unknown
    char name[CAPTURE_NAME_MAX];
    char host[CAPTURE_NAME_MAX];        // "": unknown
    char host_uid[CAPTURE_TEXT_MAX];    // as msprof names it, "": unknown
    char framework[CAPTURE_TEXT_MAX];
    char level[CAPTURE_TEXT_MAX];       // profiler level, "": unknown
    char *source;                       // which files the rows came from;
                                        // CAPTURE_SOURCE_MAX, model/owned_text.h
    enum capture_state state;
    char *reason;                       // "" when there is nothing to say;
                                        // CAPTURE_REASON_MAX, likewise
    int64_t started_ns;                 // since 1970; 0: unknown
    int64_t ended_ns;                   // since 1970; 0: unknown
    int64_t order_ns;                   // later wins: end, name's date, mtime
    uint64_t raw_bytes;                 // of all its files
    uint64_t whole_tables;              // set of 1 << table_id: read to the end
    int transient_error;                // why a file was not read that may be
                                        // read later (-EMFILE, -EIO); 0; is
                                        // told to nobody else, as the next two
    int64_t owner;                      // uid of its directory, or file, as it
                                        // was opened; -1: unknown
    bool many_owners;                   // another's file was read, too
    struct comm_group *groups;
    uint32_t ngroups;
    char **steps;                       // ids, "" for a nameless step
    uint32_t nsteps;
    struct evidence evidence;           // of its job, rank, host and steps
};

/* Whether it has rows that count. */
static inline bool capture_has_rows (const struct capture *c)
{
    return c->state == CAPTURE_COMPLETE || c->state == CAPTURE_PARTIAL;
}

void capture_init (struct capture *c);
void capture_fini (struct capture *c);

/* Append a sentence to the reason, "; " between sentences.  Does not change the
 * state.  A long sentence is cut after a whole character; without memory it is
 * dropped.
 */
void capture_reason (struct capture *c, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* Record a step id once.  0, -ENOMEM, or -E2BIG above CAPTURE_STEPS_MAX. */
int capture_note_step (struct capture *c, const char *step, size_t n);

/* Add a group whose members array is taken over on success only. */
int capture_add_group (struct capture *c, const char *id, const char *pg_name,
                       int32_t *members, uint32_t nmembers, struct err *err);

/* The same, with the members of a list, which has one more user on success. */
int capture_share_group (struct capture *c, const char *id,
                         const char *pg_name, struct rank_list *list,
                         struct err *err);

void comm_group_fini (struct comm_group *g);    // frees what it has

/* Free the groups only. */
void capture_drop_groups (struct capture *c);

/* The decimal hash under which the profiler's tables name a communicator
 * (doc/formats.md, "Group key").
 */
void capture_group_hash (const char *id, char out[CAPTURE_HASH_MAX]);

/* To and from the metadata document of a shipment (doc/format-shipment.md).
 * Reading refuses unknown members and values out of bounds with -EBADMSG.
 */
struct json *capture_to_json (const struct capture *c);
int capture_from_json (struct capture *c, const char *text, size_t size,
                       struct err *err);

#endif
