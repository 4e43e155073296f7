/* aggregator/findings/median.c - medians for SQL */
#include "findings/median.h"

#include "base/stats.h"
#include "base/vec.h"

#include "store/db.h"

#include <stdbool.h>
#include <stdlib.h>

struct sample {
    double *values;
    size_t n;
};

static void step (sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct sample *s = sqlite3_aggregate_context (ctx, sizeof (*s));
    double *p;

    (void)argc;
    if (!s || sqlite3_value_type (argv[0]) == SQLITE_NULL)
        return;
    if ((p = vec_add (&s->values, &s->n, sizeof (*p))))
        *p = sqlite3_value_double (argv[0]);
    else
        sqlite3_result_error_nomem (ctx);
}

static void median_settle (sqlite3_context *ctx)
{
    struct sample *s = sqlite3_aggregate_context (ctx, 0);
    const bool *low = sqlite3_user_data (ctx);
    double middle;

    if (!s || s->n == 0)
        return;                 // NULL
    middle = stats_median (s->values, s->n);
    sqlite3_result_double (ctx, *low ? s->values[(s->n - 1) / 2] : middle);
    free (s->values);
}

int median_register (sqlite3 *db, struct err *err)
{
    static const bool low = true, middle = false;
    static const struct {
        const char *name;
        const bool *low;
    } functions[] = { { "median", &middle }, { "median_low", &low } };
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;

    for (size_t i = 0; i < sizeof (functions) / sizeof (functions[0]); i++) {
        if (sqlite3_create_function (db, functions[i].name, 1, flags,
                                     (void *)functions[i].low, NULL, step,
                                     median_settle) != SQLITE_OK)
            return db_error (db, functions[i].name, err);
    }
    return 0;
}
