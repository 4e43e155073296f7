/* common/model/roster.h - the ranks of a job: expected and present */
#ifndef ROLLCALL_MODEL_ROSTER_H
#define ROLLCALL_MODEL_ROSTER_H

#include "model/capture.h"

#include <stdbool.h>

enum roster_state {
    ROSTER_PRESENT,             // a complete capture
    ROSTER_PARTIAL,
    ROSTER_FAILED,
    ROSTER_RAW,                 // collecting, raw or analysing
    ROSTER_MISSING,             // nothing came
    ROSTER_UNEXPECTED,          // came, but nobody expected it
    ROSTER_STATES
};

const char *roster_state_name (enum roster_state s);

/* How a COMMAND ended. */
struct command_end {
    int64_t ns;                 // when, since 1970; 0: nothing of it is known
    int64_t signal;             // that killed it, or 0
    int64_t status;             // else its exit status
};

// what is said of a job if no capture says its rank, and nobody how many there are
#define ROSTER_NO_RANKS \
    "no rank is known (--world-size says how many there are)"
// the reason of a missing rank of which nothing is known
#define ROSTER_NOT_FOUND "no capture of it was found"

#define ROSTER_NOTES_MAX 32     // as many as a summary has room for

struct roster_entry {
    int64_t rank;
    int32_t local_rank;         // -1: unknown
    int64_t device_id;          // CAPTURE_NO_DEVICE: unknown
    bool expected;
    bool verified;              // ops of its captures, or MPI, confirm the rank
    bool rank_contradicted;     // a capture names another rank, or MPI names
                                // another one than the launcher
    enum roster_state state;
    char *host;                 // NULL: unknown
    char *reason;               // NULL: nothing to say
    struct command_end command;
};

struct roster {
    struct roster_entry *entries;       // by rank, each once
    size_t n;
    size_t nstrangers;                  // captures with rows, of no rank
    int64_t world_size;                 // ranks that were expected
    char known_by[CAPTURE_TEXT_MAX];    // how: "--world-size", "guess", ...
    char *notes[ROSTER_NOTES_MAX];      // what else a person has to know
    size_t nnotes;
};

void roster_init (struct roster *r);
void roster_fini (struct roster *r);

/* The entry of a rank, created (missing, unexpected) if needed; NULL without
 * memory.  Pointers are valid until the next call that creates one.
 */
struct roster_entry *roster_at (struct roster *r, int64_t rank);

/* Replace a text member; NULL or "" clears it.  Without memory it is cleared,
 * too, which is not an error.
 */
void roster_set_text (char **member, const char *text);

/* Expect ranks 0 to world_size - 1.  0 or -ENOMEM. */
int roster_expect_world (struct roster *r, int64_t world_size,
                         const char *known_by);

/* Add a sentence for the summary, once; excess ones are dropped. */
void roster_add_note (struct roster *r, const char *text);

size_t roster_count (const struct roster *r, enum roster_state s);

/* True if every expected rank is present, with the rank that its captures name,
 * and no other rank is.
 */
bool roster_complete (const struct roster *r);

#endif
