/* aggregator/postgres/load.h - read PostgreSQL as if it were the catalogue of a
 * root
 */
#ifndef ROLLCALL_POSTGRES_LOAD_H
#define ROLLCALL_POSTGRES_LOAD_H

#include "postgres/facts.h"
#include "postgres/postgres.h"

struct load_options {
    const char *cluster;        // only its jobs; NULL: those of all
    struct catalogue_filter *filter;    // what PostgreSQL can choose by
    enum facts_use use;         // FACTS_LIST and ...
};

/* A copy of the catalogue, for the same questions: its answers are those of the
 * roots that pushed.  Only chosen jobs come, so the filter has no more but its
 * expression, if any, after that.  If there are several clusters and none is
 * chosen, jobs and hosts have the names CLUSTER/NAME.  -ENOENT: there is no such
 * cluster; errors of schema_check and pg_each; -ENOMEM.
 */
int load_catalogue (struct pg *p, const struct load_options *opt,
                    struct catalogue **ret, struct err *err);

#endif
