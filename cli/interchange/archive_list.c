/* cli/interchange/archive_list.c - rollcall archive ls: the items of a root, or of
 * several aggregators
 */
#include "archive_list.h"

#include "base/utf8.h"
#include "shared/root.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HASH_SHOWN 16           // characters

/* ---- one line ---- */

static void print_item (const struct listed_item *i)
{
    char job[UTF8_ESCAPED (MESSAGE_NAME_MAX)];
    char capture[UTF8_ESCAPED (MESSAGE_NAME_MAX)];
    char path[UTF8_ESCAPED (MESSAGE_PATH_MAX)];

    (void)printf ("%s\t%lld\t%s\t%s\t%s\t%lld\t%s\t%.*s\n",
                  utf8_escape (i->job, UTF8_COLUMN, job), (long long)i->rank,
                  utf8_escape (i->capture, UTF8_COLUMN, capture), i->kind,
                  *i->path ? utf8_escape (i->path, UTF8_COLUMN, path) : "-",
                  (long long)i->bytes, i->state, HASH_SHOWN, i->content);
}

static void add_item_row (struct grid *g, const struct listed_item *i)
{
    grid_word (g, i->job);
    grid_int (g, i->rank);
    grid_word (g, i->capture);
    grid_word (g, i->kind);
    grid_word (g, *i->path ? i->path : NULL);
    grid_int (g, i->bytes);
    grid_word (g, i->state);
    grid_text (g, i->content, HASH_SHOWN);
}

/* Each object as it comes: there may be a million. */
static void print_object (struct item_list *l, const char *at,
                          const char *text, size_t size)
{
    (void)fputs (l->printed > 0 ? ",\n" : "{\"items\": [\n", stdout);
    if (at)
        place_put_object (at, text, size, stdout);
    else
        (void)fwrite (text, 1, size, stdout);
}

/* ---- the list ---- */

int item_list_begin (struct item_list *l, const struct archive_options *opt,
                     bool at)
{
    static const char *const names[] = { "job", "rank", "capture", "kind",
                                         "path", "bytes", "state", "content",
                                         "at" };
    const unsigned n = sizeof (names) / sizeof (names[0]);

    *l = (struct item_list){ .json = opt->json, .at = at };
    if (opt->json || (opt->width < 0 && !isatty (STDOUT_FILENO)))
        return 0;
    if (!(l->g = grid_create (stdout, GRID_TABLE, cli_width (opt->width))))
        return cli_fail (opt->command, EX_OSERR, "no memory for a table");
    grid_head (l->g, names, at ? n : n - 1);
    return 0;
}

void item_list_add (struct item_list *l, const struct listed_item *i,
                    const char *object, size_t size)
{
    if (l->json)
        print_object (l, i->at, object, size);
    else if (l->g)
        add_item_row (l->g, i);
    else
        print_item (i);
    if (l->g && l->at)
        grid_word (l->g, i->at);
    l->printed++;
}

int item_list_end (struct item_list *l, bool whole)
{
    int rc = l->g && whole && l->printed > 0 ? grid_finish (l->g) : 0;

    grid_destroy (l->g);
    l->g = NULL;
    if (l->json && whole)
        (void)fputs (l->printed > 0 ? "]" : "{\"items\": []", stdout);
    return rc;
}

/* ---- of a root ---- */

struct listing {
    const struct archive_options *opt;
    struct item_list list;
};

/* NULL: no memory; the caller frees it. */
static char *object_of (const struct ledger_item *i,
                        const struct listed_item *shown)
{
    struct json *o = json_object ();
    char mode[8], *text;

    json_add_text (o, "job", i->job);
    json_add_int (o, "rank", i->rank);
    json_add_text (o, "capture", i->capture);
    json_add_text (o, "kind", shown->kind);
    json_add_nonempty (o, "path", i->path);
    json_add_text (o, "host", i->host);
    json_add_int (o, "bytes", shown->bytes);
    if (i->facts.mode) {
        PRINT (mode, "%04o", (unsigned)i->facts.mode & FILE_FACTS_MODE);
        json_add_text (o, "mode", mode);
        json_add_int (o, "mtime_ns", i->facts.mtime_ns);
    }
    json_add_text (o, "state", shown->state);
    json_add_text (o, "content", shown->content);
    text = json_print (o, false);
    json_free (o);
    return text;
}

static int list_item (void *arg, struct archive *a,
                      const struct ledger_item *i)
{
    struct listing *x = arg;
    char hex[DIGEST_HEX_SIZE], *object = NULL;
    const struct listed_item shown = {
        .job = i->job, .capture = i->capture, .path = i->path, .rank = i->rank,
        .bytes = (int64_t)i->place.size, .content = hex,
        .kind = i->kind == ITEM_ROWS ? "rows" : "raw",
        .state = i->lost         ? "quarantined"
                 : i->superseded ? "superseded" : "stored",
    };

    (void)a;
    digest_hex (&i->content, hex);
    if (x->list.json && !(object = object_of (i, &shown)))
        return cli_fail (x->opt->command, -ENOMEM, "no memory for a list");
    item_list_add (&x->list, &shown, object, object ? strlen (object) : 0);
    free (object);
    return 0;
}

int archive_ls (const struct archive_options *opt, struct archive *a,
                  const char *job)
{
    struct listing x = { .opt = opt };
    int status = item_list_begin (&x.list, opt, false), rc;
    long n;

    if (status)
        return status;
    n = cli_each_item (opt->command, a, job, false, list_item, &x);
    rc = item_list_end (&x.list, n > 0 || (n == 0 && !job));
    if (n < 0)
        return EX_IOERR;
    if (n == 0 && job)
        return cli_no_job (opt->command, a->root, job, ARCHIVE_JOBS_LISTED);
    if (opt->json)
        (void)puts ("}");
    return cli_flush (opt->command, rc);
}
