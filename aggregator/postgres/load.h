/* aggregator/postgres/load.h - read PostgreSQL as if it were the catalogue of a
 * root
 */
#ifndef ROLLCALL_POSTGRES_LOAD_H
#define ROLLCALL_POSTGRES_LOAD_H

#include "catalogue/catalogue.h"
#include "postgres/postgres.h"

struct load_options {
    const char *cluster;        // only its jobs; NULL: those of all
    int64_t since_ns;           // as in struct catalogue_filter: others would be
                                // left out anyway
    bool trend;                 // also what only trend asks for
};

/* A copy of the catalogue, for the same questions: its answers are those of the
 * roots that pushed.  If there are several clusters and none is chosen, jobs and
 * hosts have the names CLUSTER/NAME.  -ENOENT: there is no such cluster; errors
 * of schema_check and pg_each; -ENOMEM.
 */
int load_catalogue (struct pg *p, const struct load_options *opt,
                    struct catalogue **ret, struct err *err);

#endif
