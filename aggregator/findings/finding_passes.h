/* aggregator/findings/finding_passes.h - what findings add up of big tables
 *
 * A pass reads the pages of one table once, in one thread, in the order of
 * rows.  Several run at the same time.  What they add up goes into temporary
 * tables f_* for the rules; the others are made by sql/prepare_*.sql.
 */
#ifndef ROLLCALL_FINDINGS_FINDING_PASSES_H
#define ROLLCALL_FINDINGS_FINDING_PASSES_H

#include "base/texts.h"
#include "findings/findings.h"
#include "sqlite_pages/page_scan.h"
#include "row_sums/left_out.h"

#define FINDING_NO_KIND 0u      // number of "" in 'kinds'

struct finding_group {
    int64_t id;                 // its key
    uint32_t kind;              // number in 'kinds'
    bool p2p;
};

/* What all passes read. */
struct finding_input {
    sqlite3 *db;                // not for 'read'
    const struct findings_options *opt;
    const struct page_source *source;
    struct left_out left_out;
    struct map groups;          // struct finding_group
    struct texts kinds;
};

/* Read what is small; 'in' is zero but for 'opt' and 'source'.  -ENOMEM, or as
 * db_error.  Call finding_input_fini in any case.
 */
int finding_input_read (sqlite3 *db, struct finding_input *in,
                        struct err *err);
void finding_input_fini (struct finding_input *in);

struct finding_pass {
    /* Read the table, without SQLite.  *ret is what was added up, or NULL; it
     * must be destroyed in any case.
     */
    int (*read) (const struct finding_input *in, void **ret,
                 struct err *err);
    /* Create and fill the tables.  f_rank, f_group and f_job exist. */
    int (*write) (const struct finding_input *in, void *state,
                  struct err *err);
    void (*destroy) (void *state);      // which may be NULL
};

/* PacketTime, TransportTime: f_packet, f_retry.  CommAnalyzerTime: f_bubble.
 * Wait: f_caused and f_own.  GroupTime: f_sync.  Link: f_use_base and f_link.
 */
extern const struct finding_pass finding_packets, finding_bubbles,
    finding_waits, finding_syncs, finding_links;

/* Call 'take' for each row of a table. */
int finding_scan (const struct finding_input *in, const char *table,
                  int (*take) (void *arg, const struct page_scan *row,
                               struct err *err),
                  void *arg, struct err *err);

/* Whether a row of sums does not count, by its step and rank. */
bool finding_left_out (const struct finding_input *in,
                       const struct page_scan *row, unsigned step,
                       unsigned rank);

/* The group of a row; NULL if there is none, or CommGroup lacks it. */
const struct finding_group *finding_group_of (const struct finding_input *in,
                                              const struct page_scan *row,
                                              unsigned column);

double finding_threshold (const struct findings_options *opt,
                          const char *name);

#endif
