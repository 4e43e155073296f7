/* aggregator/archive/job_facts.h - facts about jobs (ledger/ledger_facts.h), to
 * be written with their records
 */
#ifndef ROLLCALL_ARCHIVE_JOB_FACTS_H
#define ROLLCALL_ARCHIVE_JOB_FACTS_H

#include "ledger/ledger.h"
#include "model/job_origin.h"
#include "store/store.h"

struct job_facts {              // begins as zeros
    struct ledger_fact *list;
    size_t n;
};

/* Add a fact, once: 1; unless the ledger says so already: 0; -ENOMEM, or as the
 * ledger.
 */
int job_facts_add (struct job_facts *f, struct ledger *ledger,
                   const struct ledger_fact *fact, struct err *err);
void job_facts_fini (struct job_facts *f);

/* Captures of one job become another's: it must be kept like that one, and have
 * its tags, and what was forgotten must not come back.
 */
int job_facts_inherit (struct job_facts *f, struct ledger *ledger,
                       const char *from, const char *to, struct err *err);

/* Append the records; enter the rows, in a transaction; or commit both. */
int job_facts_append (const struct job_facts *f, struct store *store,
                      struct err *err);
int job_facts_enter (const struct job_facts *f, struct ledger *ledger,
                     struct err *err);
int job_facts_commit (const struct job_facts *f, struct ledger *ledger,
                      struct store *store, struct err *err);

/* Commit what the captures of a job that was built say of who started it, and
 * how.  Whoever records that it is built (ledger_set_built) does this before: a
 * user may see a job that is built if the ledger says that it is his.  Without
 * 'one_user' all of its captures are not of one user: then nobody may, not even
 * whoever is the last to add one.
 */
int job_facts_note_build (struct ledger *ledger, struct store *store,
                          const char *job, const struct job_origin *about,
                          bool one_user, struct err *err);

#endif
