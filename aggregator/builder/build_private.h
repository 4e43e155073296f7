/* aggregator/builder/build_private.h - a build, between its files */
#ifndef ROLLCALL_BUILDER_BUILD_PRIVATE_H
#define ROLLCALL_BUILDER_BUILD_PRIVATE_H

#include "base/clock.h"
#include "builder/build.h"
#include "builder/split.h"
#include "builder/former.h"
#include "builder/groups.h"
#include "builder/part.h"

#include <pthread.h>

struct builder;

struct worker {
    struct builder *b;
    struct part *part;          // NULL: rows are not wanted
    struct former_reader *reader;       // NULL: nothing was copied yet
    size_t first, end;          // items
    size_t copied;              // items before it have their rows
    pthread_t thread;
    bool started;
    int rc;
    struct err err;
};

struct builder {
    const struct build_job *job;
    struct publish *out;        // NULL: no result is written
    struct former *former;      // NULL: everything is read
    bool checked;               // the file is whole
    bool plain;                 // the next build may use the rows of this one
    struct page_sums sums;      // of the file
    char path[PATH_MAX];        // path of the file being written, or ""
    struct row_file *file;
    struct row_span *spans;     // one per item
    struct split split;     // the result, if it is too large for one file
    sqlite3 *db;                // set when all rows are in the file
    struct groups *groups;
    struct worker workers[BUILD_THREADS_MAX];
    unsigned nworkers;          // that read here
    unsigned threads;           // once all is read
    atomic_bool cancel;         // a worker failed, or the caller cancelled
    atomic_size_t captures;
    _Atomic uint64_t bytes;
    pthread_mutex_t lock;       // guards 'groups', 'running' and 'next'
    pthread_cond_t ended;
    unsigned running;
    char began[CLOCK_TEXT_MAX]; // job->began_ns, or ""

    // with members (builder/build_lead.c)
    size_t next;                // the first item that nobody has
    uint64_t left;              // weight of it and those behind it
    uint64_t least;             // weight of a range, but for the last one
    unsigned readers;           // threads, of all processes
    struct lead *lead;
    uint64_t member_rows;       // that members wrote, of the four tables
};

/* Whether a worker failed or the caller cancelled. */
bool build_is_cancelled (const struct builder *b);

/* ---- build_threads.c ---- */

/* Read every capture once, which fills the parts, if there is to be a result;
 * the caller destroys these.
 */
int build_read (struct builder *b, struct err *err);

/* Tell how far it is.  'phase': as in struct build_progress. */
void build_report (struct builder *b, const char *phase);

/* Take over what was read of an item, and what its ops used: any thread. */
int build_took (struct builder *b, size_t item, struct capture *c,
                const struct part_group *used, size_t nused, struct err *err);

/* Each capture allocates and frees the same few hundred KiB.  By default the C
 * library returns them to the system each time; getting them again takes a
 * tenth of the time if there are many small captures.
 */
void build_keep_heap (void);

/* With members: take the next range of items; false: there is none. */
bool build_next_range (struct builder *b, size_t *first, size_t *end);

/* ---- build_lead.c ---- */

/* Begin a pass of the members, once b->file is there if there is to be one:
 * b->next, b->left and b->readers are set.
 */
int lead_begin (struct builder *b, struct err *err);

/* Answer what members ask now.  'idle' is how long nothing was to be done. */
int lead_serve (struct builder *b, unsigned *idle, struct err *err);

/* Whether no member is at work. */
bool lead_is_over (const struct builder *b);

/* End the pass, if there is one: 0, or the first failure of a member that is not
 * just a consequence.
 */
int lead_finish (struct builder *b, struct err *err);

#endif
