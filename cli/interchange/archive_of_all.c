/* cli/interchange/archive_of_all.c - rollcall archive ls and get of several
 * aggregators
 *
 * Each prints all of its items as JSON, of which those are taken for which it was
 * chosen: of a job the best copy, and of a divided job the raw files of all.
 */
#include "archive_list.h"

#include "base/map.h"
#include "base/texts.h"
#include "base/utf8.h"
#include "several/job_copies.h"
#include "shared/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAIL(opt, status, ...) cli_fail ((opt)->command, status, __VA_ARGS__)

#define SEEN_MAX (20u << 20)    // raw files of divided jobs, at some 40 bytes: of
                                // 100,000 ranks with 200 each
#define BEGINS "{\"items\": ["
#define ENDS "]}"

/* ---- which items ---- */

/* Raw files of divided jobs, of which two places may have the same. */
struct seen {
    uint64_t place, content;    // hashes of names
};

struct all_items {
    const struct archive_options *opt;
    struct job_copies *copies;
    const struct cli_place *place;      // whose list comes, ...
    bool begun, ended;          // ... what has come of it
    struct item_list list;
    struct map seen;
};

static bool has_copy (const struct job_copies *j, const struct job_copy *best,
                      const struct cli_place *place)
{
    size_t i = (size_t)(best - j->list), end = job_copies_next (j, i);

    while (i < end && j->list[i].place != place)
        i++;
    return i < end;
}

/* Whether it is the first of those that are the same: 1, 0, -ENOMEM, -EFBIG. */
static int is_first (struct all_items *x, const struct listed_item *i)
{
    uint64_t hash = map_key ((uint64_t)i->rank,
                             texts_hash (i->job, strlen (i->job)));
    struct seen one;
    bool is_new;

    hash = map_key (hash, texts_hash (i->capture, strlen (i->capture)));
    hash = map_key (hash, texts_hash (i->path, strlen (i->path)));
    one = (struct seen){ map_key (hash, texts_hash (i->state,
                                                    strlen (i->state))),
                         texts_hash (i->content, strlen (i->content)) };
    if (x->seen.n >= SEEN_MAX)
        return -EFBIG;
    return map_put (&x->seen, &one, &is_new) ? is_new : -ENOMEM;
}

/* 1: it is listed; 0; -ENOMEM; -EFBIG. */
static int is_wanted (struct all_items *x, const struct listed_item *i)
{
    const struct job_copy *best = job_copies_best (x->copies, i->job);

    if (!best || !job_copy_is_divided (best))
        return best && best->place == x->place;
    if (strcmp (i->kind, "raw") != 0)
        return best->place == x->place;
    return has_copy (x->copies, best, x->place) ? is_first (x, i) : 0;
}

/* ---- what comes ---- */

static const char *text_of (const struct json *o, const char *key)
{
    return json_text (json_get (o, key), "");
}

static bool is_word (const char *text)
{
    size_t n = strlen (text);

    return n > 0 && utf8_plain (text, n) == n && !memchr (text, ' ', n);
}

static bool read_item (const struct json *o, struct listed_item *i)
{
    *i = (struct listed_item){
        .job = text_of (o, "job"), .capture = text_of (o, "capture"),
        .kind = text_of (o, "kind"), .path = text_of (o, "path"),
        .state = text_of (o, "state"), .content = text_of (o, "content"),
        .rank = -1,
    };
    (void)json_int (json_get (o, "rank"), &i->rank);
    return json_is_object (o) && message_valid_name (i->job) &&
           message_valid_name (i->capture) &&
           strlen (i->path) < MESSAGE_PATH_MAX &&
           (strcmp (i->kind, "raw") == 0 || strcmp (i->kind, "rows") == 0) &&
           json_int (json_get (o, "bytes"), &i->bytes) && i->bytes >= 0 &&
           is_word (i->state) && is_word (i->content);
}

static int add_item (struct all_items *x, const char *text, size_t n,
                     struct listed_item *i, struct err *err)
{
    int rc = is_wanted (x, i);

    if (rc < 0)
        return err_set (err, -rc, "%s", rc == -ENOMEM
                            ? "no memory for a list" : "there are more raw files "
                              "of divided jobs than can be compared: name a job");
    i->at = x->place->name;
    if (rc > 0)
        item_list_add (&x->list, i, text, n);
    return 0;
}

/* A line that archive_ls has printed: one object of a list; the first one begins
 * the list, and the last one ends it.
 */
static int take_line (void *arg, const char *line, struct err *err)
{
    struct all_items *x = arg;
    size_t begins = sizeof (BEGINS) - 1, ends = sizeof (ENDS) - 1, n;
    struct listed_item i;
    struct json *o;
    int rc;

    if (!x->begun && strncmp (line, BEGINS, begins) == 0) {
        x->begun = true;
        line += begins;
    }
    n = strlen (line);
    if (n >= ends && strcmp (line + n - ends, ENDS) == 0) {
        x->ended = true;
        n -= ends;
    } else if (n > 0 && line[n - 1] == ',') {
        n--;
    }
    if (n == 0)
        return 0;
    o = json_parse (line, n, NULL);
    rc = x->begun && o && read_item (o, &i)
             ? add_item (x, line, n, &i, err)
             : err_set (err, EBADMSG, "its answer is damaged, or none");
    json_free (o);
    return rc;
}

/* ---- the list ---- */

/* Ask one for its items of a job, or of all (NULL).  Who does not give all of them
 * is named: an exit status.
 */
static int list_of_place (struct all_items *x, const struct cli_place *place,
                          const char *job)
{
    struct archive_options asked = *x->opt;
    char *const words[] = { (char *)(uintptr_t)"ls",
                            (char *)(uintptr_t)job };
    struct json *request;
    struct err why = { "" };
    int status;

    asked.json = true;
    asked.width = -1;
    request = cli_view_request (x->opt->command, &asked, job ? 2 : 1, words);
    x->place = place;
    x->begun = x->ended = false;
    status = place_each_line (x->opt->command, place, request, take_line, x,
                              &why);
    json_free (request);
    if (status == 0 && !x->ended) {
        status = EX_DATAERR;
        (void)err_set (&why, EBADMSG, x->begun ? "its list has no end"
                                               : "it gave no list");
    }
    if (status != 0)
        job_copies_lost (x->opt->command, x->copies, place, why.text);
    return status;
}

/* Whether a place has something that will be listed. */
static bool is_asked (const struct job_copies *j, const struct cli_place *place)
{
    for (size_t i = 0, end; i < j->n; i = end) {
        end = job_copies_next (j, i);
        if (j->list[i].place == place ||
            (job_copy_is_divided (&j->list[i]) &&
             has_copy (j, &j->list[i], place)))
            return true;
    }
    return false;
}

/* Of one job the best copy comes first.  The status of the first that fails. */
static int list_each (struct all_items *x, const struct cli_places *p,
                      const char *job)
{
    const struct cli_place *first = job ? x->copies->list[0].place : NULL;
    int status = first ? list_of_place (x, first, job) : 0;

    for (size_t i = 0; i < p->n; i++) {
        const struct cli_place *place = &p->list[i];
        int one = place != first && is_asked (x->copies, place)
                      ? list_of_place (x, place, job) : 0;

        status = status ? status : one;
    }
    return status;
}

static int finish_list (struct all_items *x)
{
    struct json_out out = { .f = stdout, .comma = ", ", .colon = ": ",
                            .more = true };
    int rc = item_list_end (&x->list, true);

    if (x->list.json) {
        job_copies_silent (x->copies, &out);
        (void)fputs ("}\n", stdout);
    }
    return cli_flush (x->opt->command, rc);
}

/* 0; EXIT_NOT_ALL: of one place not all; the exit status of the first that failed:
 * there is nothing; or -1: it could not be printed.
 */
static int list_copies (const struct archive_options *opt,
                        const struct cli_places *p, struct job_copies *j,
                        const char *job)
{
    struct all_items x = { .opt = opt, .copies = j,
                           .seen = MAP (struct seen, 2) };
    int status;

    if (item_list_begin (&x.list, opt, j->nplaces > 1) != 0)
        return -1;
    status = list_each (&x, p, job);
    if (status > 0 && x.list.printed > 0)
        status = EXIT_NOT_ALL;
    if (finish_list (&x) != 0)
        status = -1;
    map_fini (&x.seen);
    return status;
}

static int list_one (const struct archive_options *opt,
                     const struct cli_places *p, const char *job,
                     struct job_copies *j)
{
    const struct job_copy *best;
    int status = job_copies_find (opt->command, p, job, false, j, &best);

    if (status == 0)
        status = list_copies (opt, p, j, job);
    return status < 0 ? EX_IOERR : status;
}

/* As rollcall jobs: what is missing, or contradicts itself, is named. */
static int list_all (const struct archive_options *opt,
                     const struct cli_places *p, struct job_copies *j)
{
    struct json *request = job_copies_request (NULL);
    int status = job_copies_ask (opt->command, p, request, j);
    bool contradict;

    json_free (request);
    if (status)
        return status;
    status = list_copies (opt, p, j, NULL);
    contradict = job_copies_tell (opt->command, j) > 0;
    return status < 0                                ? EX_IOERR
           : status > 0 || contradict || j->away > 0 ? EXIT_NOT_ALL : 0;
}

int archive_ls_of_all (const struct archive_options *opt, const char *job)
{
    struct job_copies j = { .n = 0 };
    struct cli_places p;
    int status;

    if (job && !cli_valid_job (job))
        return FAIL (opt, EXIT_USAGE, "\"%s\" is not the name of a job", job);
    status = cli_places_open (opt->command, &opt->where, &p);
    if (status == 0)
        status = job ? list_one (opt, &p, job, &j) : list_all (opt, &p, &j);
    job_copies_fini (&j);
    cli_places_close (&p);
    return status;
}

/* ---- get ---- */

int archive_get_of_all (const struct archive_options *opt, int nwords,
                        char *const *words)
{
    struct archive_sources from = { .n = 0 };
    struct job_copies j = { .n = 0 };
    const struct job_copy *best;
    struct cli_places p;
    int status;

    if (!cli_valid_job (words[1]))
        return FAIL (opt, EXIT_USAGE, "\"%s\" is not the name of a job",
                     words[1]);
    status = cli_places_open (opt->command, &opt->where, &p);
    if (status == 0)
        status = job_copies_find (opt->command, &p, words[1], false, &j, &best);
    for (size_t i = 0; status == 0 && i < j.n; i++) {
        if (i == 0 || job_copy_is_divided (best))
            from.list[from.n++] = j.list[i].place;
    }
    if (status == 0) {
        PRINT (from.rest.raw_at, "%s", best->raw_at);
        status = archive_get_all (opt, &from, nwords, words);
    }
    job_copies_fini (&j);
    cli_places_close (&p);
    return status;
}
