/* aggregator/jobs/jobs_private.h - jobs, between their files
 *
 * jobs.c         the order of the steps
 * jobs_facts.c   facts about one capture, and comparisons of two
 * jobs_clock.c   offsets between the clocks of hosts
 * jobs_link.c    captures that are certainly of one job: knots
 * jobs_draft.c   a growing job, and evidence against a capture in it
 * jobs_result.c  the jobs that drafts became: their names and their order
 */
#ifndef ROLLCALL_JOBS_JOBS_PRIVATE_H
#define ROLLCALL_JOBS_JOBS_PRIVATE_H

#include "base/map.h"
#include "jobs/jobs.h"

// clocks of two hosts, or of one host before and after it was set, agree within
// this
#define JOBS_BOOT_NS (10 * INT64_C (1000000000))
// two formats of one time differ by less
#define JOBS_SAME_NS 1000000
// a clock that is not set drifts by up to 100 ppm: after a pause of this many
// ns, the boot time may be off by 1 ns
#define JOBS_DRIFT 10000
// windows of one process overlap by less than this part of the shorter one
#define JOBS_TOUCH 4
// ranks of one job do not do one step farther apart than this (rule 5a)
#define JOBS_APART_NS (60 * INT64_C (1000000000))
// evidence from one clock counts more than that from two compared clocks
#define JOBS_CLOCKS_NS 10000000
// the same limit for what may be several hosts of one name, whose clocks may be
// off by any two time zones (UTC-12 to UTC+14)
#define JOBS_ZONES_NS JOBS_GAP_NS
#define JOBS_OPS_MIN 4          // common ops of two captures, to compare their
                                // ends (5b)
// measured: captures of one job differ by 0.25 to 9 us, of two by over 1.4 ms
#define JOBS_RESIDUE_NS 1000000
#define JOBS_RESIDUE_PERCENT 5  // of the median op, if that is more

/* The facts of one capture. */
struct fact {
    const struct jobs_capture *in;
    const struct capture *c;
    const struct evidence *e;
    int64_t rank;               // by its ops and groups, else as filed
    int64_t start_ns, end_ns;   // wall clock; 0: unknown
    bool dated;                 // the capture says so itself, not its files
    size_t clock;               // clock of its host and boot; JOBS_NONE:
                                // unknown
    int64_t ahead_ns;           // its offset from other clocks, if they were
                                // compared
    bool window;                // mono_* and boot_ns are known
    bool sure;                  // its own lists contain its rank, so they may
                                // be used to check others
    bool named_groups;          // its groups' names may be root infos
    int64_t highest;            // highest position in a group, -1: none
    size_t knot;                // that it is in
    size_t next;                // capture of the same knot, JOBS_NONE: last
    size_t next_of_rank;        // in the same draft
    size_t draft;               // JOBS_NONE: not yet
};

enum same { SAME_YES, SAME_NO, SAME_UNKNOWN };

struct facts {
    struct fact *list;
    size_t n;
};

/* The index of a capture, by a key, in a map. */
struct indexed {
    uint64_t key;
    size_t at;
};

#define INDEXED MAP (struct indexed, 1)

/* ---- jobs_facts.c ---- */

/* The index under a key, JOBS_NONE for a new key.  Valid until the next call;
 * NULL without memory.
 */
size_t *index_at (struct map *m, uint64_t key);
size_t index_get (const struct map *m, uint64_t key);   // or JOBS_NONE

int facts_create (struct facts *f, const struct jobs_capture *captures,
                  size_t n);
void facts_fini (struct facts *f);

/* Whether both captures are of the same window of one process (a copy, or
 * analysed again), if that is known.
 */
enum same fact_same_window (const struct fact *a, const struct fact *b);

/* Whether both know their host and the hosts differ; different boot times
 * count, too.
 */
bool fact_other_host (const struct fact *a, const struct fact *b);

/* How far apart in time ranks of one job may do a step, given their hosts;
 * INT64_MAX: no limit.
 */
int64_t fact_apart (const struct fact *a, const struct fact *b);
bool fact_same_process (const struct fact *a, const struct fact *b);

/* Whether both pids are known, and only a clock that was set makes them look
 * like two processes.
 */
bool fact_equal_pids (const struct fact *a, const struct fact *b);
bool fact_other_process (const struct fact *a, const struct fact *b);

/* A step that both have, or NULL.  Without 'nameless': one with a name. */
const char *fact_common_step (const struct fact *a, const struct fact *b,
                              bool nameless);

/* Whether they overlap in time, on one clock. */
bool fact_overlap (const struct fact *a, const struct fact *b);

/* |a - b|, INT64_MAX if it is more: evidence may hold any numbers. */
int64_t fact_distance (int64_t a, int64_t b);
int64_t fact_minus (int64_t a, int64_t b);      // the nearest that there is

/* The name that identifies the host; "": none. */
const char *fact_host (const struct fact *f);

/* A nameless step equals no other: each window has one. */
bool fact_is_step (const struct evidence_span *s);

/* The group that the capture's metadata list under a name, or NULL. */
const struct comm_group *fact_group (const struct fact *f, const char *name);

/* Whether a list of members has the rank. */
bool fact_is_member (const struct comm_group *g, int64_t rank);
bool fact_equal_members (const struct comm_group *a,
                         const struct comm_group *b);

/* ---- jobs_clock.c ---- */

/* Fill in fact.clock and fact.ahead_ns.  0 or -ENOMEM. */
int jobs_compare_clocks (struct facts *f);

/* ---- jobs_link.c ---- */

/* Link captures that are certainly of one job into knots: fact.knot is the
 * index of the knot's first capture, fact.next its list.  0 or -ENOMEM.
 */
int jobs_link (struct facts *f);

/* ---- jobs_draft.c ---- */

struct drafts {
    struct facts *facts;
    size_t n;
    struct map ranks;           // (draft, rank): its last capture
    struct map worlds;          // draft: a capture that knows the world's size
    struct map highest;         // draft: the one of the highest position
    struct map lists;           // (draft, group, rank), (draft, group, members)
    struct map defaults;        // (draft, members): of the world's group
    struct map hosts;           // (draft, boot or none, name of the host,
                                // step)
    struct map steps;           // (draft, clock, step), (draft, step)
    struct map samples;         // (draft, sample, members of its group)
    struct map firsts;          // draft: its first capture
};

void drafts_init (struct drafts *d, struct facts *f);
void drafts_fini (struct drafts *d);

/* Put a knot into a draft.  0 or -ENOMEM. */
int drafts_join (struct drafts *d, size_t draft, size_t knot);

/* Whether evidence contradicts that the knot belongs to the draft; 'why' gets
 * a sentence.
 */
bool drafts_contradict (const struct drafts *d, size_t draft, size_t knot,
                        char why[JOBS_WHY_MAX]);

/* The distance in time of the knot from the draft: of equal steps, if possible
 * on one clock, else of the whole.  INT64_MAX: unknown.
 */
int64_t drafts_offset (const struct drafts *d, size_t draft, size_t knot);

/* ---- jobs_result.c ---- */

/* What is known of a draft that all of its captures have joined. */
struct draft_told {
    size_t first_knot;          // that it began with
    size_t nknots;
    const char *why;            // it is not of the draft before
};

/* Make the jobs of 'n' drafts, each capture of which is in one.  0 or -ENOMEM; always
 * call jobs_fini.
 */
int jobs_tell (const struct facts *f, const struct draft_told *drafts, size_t n,
               struct jobs *ret);

#endif
