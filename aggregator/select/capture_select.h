/* aggregator/select/capture_select.h - which captures count, and for which rank
 *
 * Before rows are read: captures of no rank.  After, when it is known what each
 * of them gave: ranks that two hosts claim, copies of a capture, steps that two
 * captures of one rank both have, and the roster.
 */
#ifndef ROLLCALL_SELECT_CAPTURE_SELECT_H
#define ROLLCALL_SELECT_CAPTURE_SELECT_H

#include "model/capture.h"
#include "model/roster.h"

/* Which rank of how many the process of a rank is, by MPI's own word. */
struct select_mpi {
    int64_t rank, mpi_rank, mpi_size;
};


/* One capture on its way into a build. */
struct select_item {
    struct capture capture;     // as looked at; then as read
    int64_t rank;               // that its rows get; -1: they do not count
    bool skip;                  // its rows are not to be read
    bool drop;                  // they were, and are to be taken out again
    uint64_t weight;            // bytes to be read, for sharing the work
    size_t source;              // the caller's index of it
    const char *rank_by;        // how its rank was guessed, or NULL
    const char *agent_host;     // of the agent that brought it, or NULL
    bool host_is_agents;        // so capture.host is: it does not say its own
    const struct select_mpi *mpi; // of the rank that it is filed under, or NULL
    struct group_list groups;   // that it lists; they are the build's

    // as select_verify found
    bool judged;                // 'rank' is of those who looked, whatever the
                                // capture says
    bool verified;              // its ops confirm its rank, or MPI does
    bool rank_contradicted;     // it said another rank, or several; or MPI says
                                // another than the launcher
    bool doubt;                 // nobody knows its rank: its rows tell nothing
    char *told;                 // what is to be said of that, or NULL
};

/* Free what the items hold (not the array). */
void select_free (struct select_item *items, size_t n);

/* Give captures of no rank one, or set them aside, and sort by rank and age.
 * A capture that is alone is of rank 0.  Captures of the msprof program are
 * numbered by host and device if no capture has a rank.
 * On return items[i] is the capture with id i + 1.  Traces that do not say
 * their rank take it from a number in their names, if these are 0, 1, 2 ... in
 * some place of the names; nobody's is made up from the order of files.  Rows
 * of a capture that has none are read, and have none.
 */
void select_plan (struct select_item *items, size_t n);

/* Sort by rank, age and name.  The order gives the captures their ids. */
void select_sort (struct select_item *items, size_t n);

/* The capture as read, which the item takes over in place of the glance. */
void select_take (struct select_item *item, struct capture *c);

/* Say in the capture what was found of its rank. */
void select_tell (struct select_item *item);

/* How much there is of a capture: all, so many tables, or nothing (0).  Of two
 * versions the one with more counts, then the newer.
 */
int select_grade (const struct capture *c);

/* After reading: which of the captures of each rank count.  Of copies that is
 * the one that gave most, then the newest; of two hosts none.
 */
void select_settle (struct select_item *items, size_t n);

#define SELECT_BY_OPS "ops of the captures"     // there may be more

/* How many ranks are expected if nobody said: from the captures' metadata, or
 * else the highest rank seen (then *known_by is "guess").  Positions in groups
 * that ops show are a lower bound (SELECT_BY_OPS) of both.
 */
int64_t select_world_size (const struct select_item *items, size_t n,
                           const char **known_by);

/* Captures that say another size of the world than most get a word for it. */
void select_tell_worlds (struct select_item *items, size_t n);

/* A capture that is not the only one of its rank to have this step, or whose
 * rows are all to be taken out again.
 */
struct select_conflict {
    int64_t capture, rank;
    const char *step;           // its id, borrowed from the item; "" nameless;
                                // NULL: drop all that the capture gave
    uint64_t whole_tables;      // as in struct capture
};

/* The (rank, step) pairs that two captures have, once for each of the two or
 * more often; both say so in their reasons.  Table by table the newest capture
 * wins that has rows, and the table whole if any has (conflicts_drop).  Also
 * the captures that select_settle put aside.  The list is the caller's to free;
 * -ENOMEM.
 */
int select_conflicts (struct select_item *items, size_t n,
                      struct select_conflict **ret, size_t *nret);

/* Enter every capture into the roster, whose expected ranks are there. */
int select_fill_roster (const struct select_item *items, size_t n,
                        struct roster *r);

#endif
