/* cli/jobs/facts_of_all.c - the jobs of several aggregators as one catalogue
 *
 * This folder: what verbs ask about many jobs, and rollcall push.
 */
#include "jobs/facts_of_all.h"

#include "postgres/facts_lines.h"

#include <errno.h>
#include <string.h>

struct coming {
    const struct command_spec *c;
    struct job_copies *copies;
    const struct cli_place *place;      // whose lines come
    struct facts_lines lines;
};

/* A job comes from where its best copy is. */
static bool is_wanted (void *arg, const char *job, const char **path)
{
    const struct coming *x = arg;
    const struct job_copy *best = job_copies_best (x->copies, job);

    if (!best || best->place != x->place)
        return false;
    *path = best->place->security
                ? NULL : json_text (json_get (best->o, "analysis_db"), NULL);
    return true;
}

static int take_line (void *arg, const char *line, struct err *err)
{
    struct coming *x = arg;

    return facts_lines_take (&x->lines, line, err);
}

/* Who does not give all of its facts is named, and gives none; or an error. */
static int take_place (struct coming *x, const struct cli_place *place,
                       const struct json *request, struct err *err)
{
    struct err why = { "" };
    int rc = facts_lines_begin_root (&x->lines, err), status;

    if (rc < 0)
        return rc;
    x->place = place;
    status = place_each_line (x->c, place, request, take_line, x, &why);
    if (status == 0 && !x->lines.begun)
        status = err_set (&why, EBADMSG, "it gave no facts");
    if (status != 0)
        job_copies_lost (x->c, x->copies, place, why.text);
    return facts_lines_end_root (&x->lines, status == 0, err);
}

static bool has_best (const struct job_copies *j, const struct cli_place *place)
{
    size_t i = 0;

    while (i < j->n && j->list[i].place != place)
        i = job_copies_next (j, i);
    return i < j->n;
}

static int take_all (struct coming *x, const struct cli_places *p,
                     const struct json *request, struct catalogue *c)
{
    struct err err = { "" };
    int rc = facts_lines_begin (&x->lines, c, is_wanted, x, &err), end;

    for (size_t i = 0; i < p->n && rc >= 0; i++) {
        if (has_best (x->copies, &p->list[i]))
            rc = take_place (x, &p->list[i], request, &err);
    }
    end = facts_lines_end (&x->lines, rc < 0 ? NULL : &err);
    return rc < 0 || end < 0 ? cli_fail (x->c, EX_OSERR, "%s", err.text) : 0;
}

int facts_of_all (const struct command_spec *c, const struct cli_places *p,
                  const struct json *list, const struct json *facts,
                  struct job_copies *j, struct cli_jobs *ret, bool *some)
{
    struct coming x = { .c = c, .copies = j };
    struct err err = { "" };
    int status = job_copies_ask (c, p, list, j);

    *ret = (struct cli_jobs){ .ledger = NULL };
    if (status)
        return status;
    if (catalogue_open_copy (&ret->catalogue, &err) < 0)
        return cli_fail (c, EX_OSERR, "%s", err.text);
    *some = job_copies_tell (c, j) > 0;
    status = take_all (&x, p, facts, ret->catalogue);
    *some = *some || j->away > 0;
    return status;
}
