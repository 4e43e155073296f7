/* aggregator/select/capture_select.h - which captures count, and for which rank
 *
 * Before rows are read: captures without a rank.  Afterwards: ranks that two
 * hosts claim, copies of a capture, steps that two captures of one rank have,
 * and the roster.
 */
#ifndef ROLLCALL_SELECT_CAPTURE_SELECT_H
#define ROLLCALL_SELECT_CAPTURE_SELECT_H

#include "base/digest.h"
#include "model/capture.h"
#include "model/roster.h"

/* The rank and size that MPI gives the process of a rank. */
struct select_mpi {
    int64_t rank, mpi_rank, mpi_size;   // sorted by rank
};

/* Ids of a rank's captures are so far apart: the first capture of rank r is
 * r + 1, its next one SELECT_IDS more, and so on.  Captures without a rank are
 * multiples of SELECT_IDS.  So an id says the rank, and depends on nothing but
 * the rank's own captures.
 */
#define SELECT_IDS 1000000

/* A capture of a build. */
struct select_item {
    struct capture capture;     // first as examined, then as read
    int64_t id;                 // Capture.id
    int64_t first_row;          // the rowid of its first row in a table, and
    uint64_t rows_max;          // how many of them are its own
    int64_t rank;               // rank of its rows; -1: they do not count
    bool skip;                  // do not read its rows
    bool drop;                  // remove its rows, which were read
    uint64_t weight;            // bytes to read, to divide the work
    size_t source;              // the caller's index
    const struct digest *content;       // of what its rows are read from, or
                                        // NULL
    const struct build_capture *kept;   // what the former result has of it
                                        // (builder/former.h), or NULL
    const char *rank_by;        // how its rank was guessed, or NULL
    int64_t launcher_size;      // of the world, as its mark says; 0: unknown
    const char *agent_host;     // host of the agent that delivered it, or NULL
    bool host_is_agents;        // capture.host is the agent's, since the
                                // capture names none
    const struct select_mpi *mpi; // MPI's report on the rank that it is filed
                                  // under, or NULL
    struct group_list groups;   // the groups that it lists; the build owns them

    // set by select_verify
    bool judged;                // 'rank' was determined by the checks, whatever
                                // the capture says
    bool verified;              // its ops confirm its rank, or MPI does
    bool rank_contradicted;     // it names another rank, or several; or MPI and
                                // the launcher differ
    bool doubt;                 // its rank is unknown: its rows are not used
    char *told;                 // a message about that, or NULL
};

/* Free what the items hold (not the array). */
void select_free (struct select_item *items, size_t n);

/* Assign ranks to captures without one, or set them aside, and sort by rank and
 * age.  A single capture gets rank 0.  Captures of the msprof program are
 * numbered by host and device if no capture has a rank.  Traces without a rank
 * take it from a number in their names, if these are 0, 1, 2 ... in some place;
 * the order of files is never used.  Rows of a capture without a rank are read,
 * and have none.
 */
void select_plan (struct select_item *items, size_t n);

/* Sort by rank, age and name; captures without a rank come last.  The order
 * among those of a rank gives the captures their ids and rowids.  The rowids of
 * rank r are those from (r + 1) * 2^32 on, and its captures divide them evenly.
 */
void select_sort (struct select_item *items, size_t n);

/* The place of the capture with this id in the sorted items; n: there is none.
 */
size_t select_place (const struct select_item *items, size_t n, int64_t id);

/* Replace the item's capture by the one that was read, taking it over. */
void select_take (struct select_item *item, struct capture *c);

/* Add what the checks found about the rank to the capture's reason. */
void select_tell (struct select_item *item);

/* How complete a capture is: whole, a number of tables, or nothing (0).  Of two
 * versions the more complete one counts, then the newer one.
 */
int select_grade (const struct capture *c);

/* After reading: decide which captures of each rank count: of copies the most
 * complete one, then the newest; of two hosts none.
 */
void select_settle (struct select_item *items, size_t n);

#define SELECT_BY_OPS "ops of the captures"     // there may be more
#define SELECT_BY_MARKS "marks of the captures"
#define SELECT_BY_GUESS "guess"

/* How many ranks are expected without a claim: by the captures' metadata, or
 * else by their marks (SELECT_BY_MARKS), unless a rank is beyond that, or else
 * the highest rank seen (*known_by is "guess" then).  Positions of ops in groups
 * are a lower bound (SELECT_BY_OPS) of all.
 */
int64_t select_world_size (const struct select_item *items, size_t n,
                           const char **known_by);

/* Add a reason to captures whose world size differs from that of most. */
void select_tell_worlds (struct select_item *items, size_t n);

/* A step that other captures of the rank also have, or a capture whose rows all
 * have to be removed.
 */
struct select_conflict {
    int64_t capture, rank;
    const char *step;           // its id, borrowed from the item; "": without a
                                // name; NULL: drop all rows of the capture
    uint64_t whole_tables;      // as in struct capture
};

/* The (rank, step) pairs that several captures have, at least once for each
 * capture, with the captures that select_settle set aside; the captures'
 * reasons name them.  For each table the newest capture with rows wins, of
 * those whose table is whole if there are any (conflicts_drop).  The caller
 * frees the list; -ENOMEM.
 */
int select_conflicts (struct select_item *items, size_t n,
                      struct select_conflict **ret, size_t *nret);

/* Enter every capture into the roster, which has the expected ranks. */
int select_fill_roster (const struct select_item *items, size_t n,
                        struct roster *r);

#endif
