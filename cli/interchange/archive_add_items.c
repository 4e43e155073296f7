/* cli/interchange/archive_add_items.c - the names of what was read */
#include "archive_add_private.h"

#include "base/clock.h"
#include "base/vec.h"
#include "spool/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void item_of (const struct adding_all *all, const struct add_capture *c,
                     enum item_kind kind, struct ledger_item *i)
{
    *i = (struct ledger_item){ .kind = kind, .rank = c->rank,
                               .newest_ns = c->look.newest_ns };
    PRINT (i->capture, "%s", c->capture_name);
    PRINT (i->host, "%s", c->host);
    if (*c->job) {
        PRINT (i->job, "%s", c->job);
        return;
    }
    PRINT (i->job, ADD_SCOPE);
    PRINT (i->scope, ADD_SCOPE);
    // what comes once more from a tar file has the place that it had
    spool_place (all->a->unpacked ? "" : all->host_id,
                 c->path + (all->a->unpacked ? strlen (all->a->dir) : 0),
                 i->dir);
}

/* What an agent of the run would say on this host. */
static int put_claim (const struct adding_all *all, const struct add_capture *c,
                      struct record *r, struct err *err)
{
    memset (r, 0, sizeof (*r));
    r->kind = RECORD_JOB;
    PRINT (r->item.job, "%s", c->job);
    r->word.by = CLAIM_NODE;
    r->word.world_size = c->recalled.world_size;
    PRINT (r->word.host, "%s", all->host);
    return intake_put_record (all->a->in, r, err);
}

static int put_item (struct adding_all *all, struct record *r, struct err *err)
{
    r->kind = RECORD_ITEM;
    if (!message_valid_item (r->item.kind, r->item.rank, r->item.capture,
                             r->item.path))
        return -EINVAL;
    r->item.received_ns = clock_wall_ns ();
    return intake_put_record (all->a->in, r, err);
}

static int put_file (struct adding_all *all, const struct add_capture *c,
                     const struct add_file *f, struct record *r,
                     struct err *err)
{
    int rc;

    if (f->rc < 0) {
        add_tell (all, c->path, f->path, strerror (-f->rc));
        return 0;
    }
    item_of (all, c, ITEM_RAW, &r->item);
    PRINT (r->item.path, "%s", f->path);
    r->item.content = f->content;
    r->item.facts = file_facts_of (&f->st, all->a->opt->owner);
    if ((rc = put_item (all, r, err)) == -EINVAL) {
        add_tell (all, c->path, f->path, "it has a name that cannot be stored");
        return 0;
    }
    all->files++;
    all->bytes += (uint64_t)f->st.st_size;
    return rc;
}

/* A capture that was added to a job, by the hash of job, rank and name. */
struct added {
    uint64_t key[DIGEST_SIZE / 8];
    uint32_t path;
    int64_t newest_ns;
    uint64_t bytes, files;
    struct digest rows;
};

/* Of captures of a job that have one rank and name only the newest counts, as if
 * it were analysed again: tell of those in another directory, unless one is a copy.
 */
static int note_added (struct adding_all *all, const struct add_capture *c,
                       const struct ledger_item *i, struct err *err)
{
    char text[2 * MESSAGE_NAME_MAX + 32], why[PATH_MAX + 128];
    struct adding *a = all->a;
    struct added key = { .path = 0 }, *known;
    struct digest id;
    bool is_new;
    int n = snprintf (text, sizeof (text), "%s%c%s%c%lld", i->job, 0,
                      i->capture, 0, (long long)i->rank);

    if (!a->added.words)
        a->added = (struct map)MAP (struct added, DIGEST_SIZE / 8);
    if (digest_of (text, (size_t)n, &id) < 0)
        return err_set (err, ENOMEM, "no memory for a hash");
    memcpy (key.key, id.bytes, DIGEST_SIZE);
    if (!(known = map_put (&a->added, &key, &is_new)))
        return err_set (err, ENOMEM, "no memory for captures");
    if (is_new) {
        known->path = texts_intern (&a->paths, c->path, strlen (c->path));
        known->newest_ns = c->look.newest_ns;
        known->bytes = c->look.tree_bytes;
        known->files = c->look.tree_files;
        known->rows = i->content;
        return known->path == TEXTS_NONE
                   ? err_set (err, ENOMEM, "no memory for captures") : 0;
    }
    if (strcmp (texts_at (&a->paths, known->path), c->path) == 0 ||
        (known->newest_ns == c->look.newest_ns &&
         known->bytes == c->look.tree_bytes &&
         known->files == c->look.tree_files &&
         digest_is (&known->rows, &i->content)))
        return 0;
    PRINT (why, "%s has its name and rank, and of both in one job only the "
           "newest counts", texts_at (&a->paths, known->path));
    add_tell (all, c->path, NULL, why);
    return 0;
}

/* Remember what got the capture, to tell of its job. */
static int note_put (struct adding_all *all, const struct ledger_item *i,
                     struct err *err)
{
    struct add_scoped *s;

    if (!*i->dir)
        return texts_intern (&all->jobs, i->job, strlen (i->job)) == TEXTS_NONE
                   ? err_set (err, ENOMEM, "no memory for jobs") : 0;
    if (!(s = vec_add (&all->scoped, &all->nscoped, sizeof (*s))))
        return err_set (err, ENOMEM, "no memory for captures");
    PRINT (s->capture, "%s", i->capture);
    PRINT (s->place, "%s", i->dir);
    s->rank = i->rank;
    s->newest_ns = i->newest_ns;
    return 0;
}

int add_items (struct add_group *g, size_t i, struct err *err)
{
    struct adding_all *all = g->all;
    const struct add_capture *c = &g->captures[i];
    struct record *r = calloc (1, sizeof (*r));
    int rc = r ? 0 : err_set (err, ENOMEM, "no memory for a capture");

    if (rc == 0 && *c->job && !all->a->opt->job && c->recalled.world_size > 0)
        rc = put_claim (all, c, r, err);
    if (rc == 0) {
        item_of (all, c, ITEM_ROWS, &r->item);
        r->item.content = c->rows;
        if ((rc = put_item (all, r, err)) == -EINVAL) {
            add_tell (all, c->path, NULL,
                      "it has a name that cannot be stored");
            free (r);
            return 0;
        }
        if (rc == 0)
            rc = note_put (all, &r->item, err);
        if (rc == 0 && !*r->item.dir)
            rc = note_added (all, c, &r->item, err);
    }
    for (size_t k = 0; k < g->nfiles && rc == 0; k++) {
        if (g->files[k].capture == i)
            rc = put_file (all, c, &g->files[k], r, err);
    }
    free (r);
    all->captures += rc == 0;
    return rc;
}
