/* node_agent/agent/agent_wants.c - raw files that the aggregator wants, or does
 * not
 *
 * A WANT names files of a capture that was delivered.  They are sealed, one WANT
 * at a time, and offered after all rows.  Nothing of a WANT is kept on disk but
 * its items: the aggregator repeats it, also to the next agent.
 */
#include "agent/agent_private.h"

#include "agent/agent_captures.h"
#include "agent/agent_delivery.h"
#include "agent/seal_items.h"
#include "agent/wanted_files.h"
#include "base/vec.h"
#include "spool/release_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WANTS_MAX 64            // the aggregator sends a quarter of that at a
                                // time; an older one is forgotten
#define RAW_NOTE "raw"          // what the aggregator said of raw files
#define ON_DEMAND "on demand"

struct agent_want {
    struct message said;        // WANT
    unsigned copy;              // of the aggregator that said it
    uint64_t version;           // in the spool; 0: not known yet
    uint64_t first;             // item of it, see spool_list_raw
    bool sealing;               // the sealer has its files
    bool sealed;                // what there is was sealed
    bool again;                 // an earlier try failed
    int64_t not_before_ns;      // the next one, then
    uint64_t skipped;           // files and directories that were left out
    char why[256];              // the first of them, or of the whole; or ""
    bool told;                  // that nothing more will come
};

/* ---- whether raw files are wanted on demand ---- */

void agent_recall_raw (struct agent *a)
{
    char text[16];

    a->wants.known = spool_note (a->spool, RAW_NOTE, text, sizeof (text));
    a->wants.on_demand = a->wants.known && strcmp (text, ON_DEMAND) == 0;
}

static void withdraw (void *arg, uint64_t item)
{
    struct agent *a = arg;

    ship_withdraw (a->ship, item);
}

/* Give up what was sealed before this was known.  If that fails, the next
 * WELCOME says it again.
 */
static int change (struct agent *a, bool on_demand, struct err *err)
{
    int rc = on_demand ? spool_drop_raw (a->spool, withdraw, a, err) : 0;

    if (rc == 0)
        rc = spool_keep_note (a->spool, RAW_NOTE, on_demand ? ON_DEMAND
                                                            : "all", err);
    if (rc < 0)
        return rc;
    if (!on_demand && a->wants.known)   // with their raw files, then
        watch_hand_on_again (a->watch, NULL);
    a->wants.known = true;
    a->wants.on_demand = on_demand;
    sealer_set_raw (a->sealer, agent_gives_raw (a));
    agent_route (a);
    log_info ("raw-files", "the aggregator wants raw files %s",
              on_demand ? "on demand only" : "of every capture");
    return 0;
}

void agent_on_raw (void *arg, enum raw_wanted raw, int64_t asked_ns)
{
    bool on_demand = raw != RAW_ALL;
    struct err err = { "" };
    struct agent *a = arg;

    if (!a->opt->raw)
        return;
    if ((!a->wants.known || a->wants.on_demand != on_demand) &&
        change (a, on_demand, &err) < 0) {
        log_error ("spool-failed", "%s", err.text);
        return;
    }
    a->wants.decided_ns = raw == RAW_UNDECIDED ? 0 : asked_ns;
    if (raw != RAW_UNDECIDED)
        a->wants.undecided_ns = 0;
    else if (a->wants.undecided_ns == 0)
        a->wants.undecided_ns = clock_mono_ns ();
    if (a->search.waiting)      // until this was known
        agent_hand_on (a);
    if (on_demand)
        a->end.check (a);
}

/* ---- the files of a WANT ---- */

static bool is_one_file (const struct agent_want *w)
{
    return *w->said.path && !strpbrk (w->said.path, "*?");
}

static bool is_gone (const char *path)
{
    return access (path, F_OK) < 0 && errno == ENOENT;
}

static void name_gone (struct agent *a, struct agent_want *w, const char *path)
{
    PRINT (w->why, "%.120s is no longer there: %s", path,
           spool_was_released (a->spool, path)
               ? "it was released, after its rows were delivered"
               : "it was moved or removed");
}

/* Have what is not in the spool yet sealed, unless the sealer has another WANT,
 * it failed just now, or there is no memory: then later.
 */
static void begin (struct agent *a, struct agent_want *w,
                   const struct spool_version *v)
{
    struct seal_wanted *wanted = NULL;
    char file[PATH_MAX];

    if (a->wants.sealing || clock_mono_ns () < w->not_before_ns ||
        spool_file (a->spool, v->id, 0, file, NULL) < 0 ||
        !(wanted = calloc (1, sizeof (*wanted))))
        return;
    PRINT (wanted->pattern, "%s", w->said.path);
    wanted->newest_ns = v->newest_ns;
    if (spool_list_raw (a->spool, v->id, 0, &wanted->known, NULL) < 0) {
        spool_raw_list_fini (&wanted->known);
        free (wanted);
        return;
    }
    if (sealer_add_wanted (a->sealer, v->path, v->id, file, w->again,
                           wanted) < 0)
        return;
    log_info ("wanted", "%s%s%s", v->path, *w->said.path ? ": " : "",
              w->said.path);
    a->wants.sealing = w->sealing = true;
}

static void count_files (struct agent *a, struct agent_want *w,
                         struct message *m)
{
    struct spool_raw_list l;

    if (spool_list_raw (a->spool, w->version, w->first, &l, NULL) < 0) {
        m->have = HAVE_BUSY;
        spool_raw_list_fini (&l);
        return;
    }
    w->first = l.first;
    for (size_t i = 0; i < l.n; i++) {
        const struct spool_raw *f = &l.files[i];
        bool came = f->state == SPOOL_DURABLE || f->state == SPOOL_RELEASED;

        if (f->state == SPOOL_UNWANTED ||
            !wanted_matches (w->said.path, f->path))
            continue;
        m->files++;
        m->came += came;
        m->gone += f->state > SPOOL_RELEASED;
        if (f->state > SPOOL_RELEASED && !*m->text)
            PRINT (m->text, "%.600s: %s", f->path, f->why);
        else if (!came && f->state < SPOOL_DURABLE)
            m->have = HAVE_BUSY;
    }
    spool_raw_list_fini (&l);
}

/* What was left out has no item, and a capture that is gone is one thing that is
 * missing; but one file may be all that is wanted.
 */
static void count_rest (const struct agent_want *w, bool gone,
                        struct message *m)
{
    uint64_t missing = w->skipped + gone;

    if (is_one_file (w) && m->came > 0)
        missing = 0;
    m->files += missing;
    m->gone += missing;
    if (!*m->text && missing > 0)
        PRINT (m->text, "%s", w->why);
    if (m->files == 0 && m->have == HAVE_ALL_SAID)
        PRINT (m->text, "%s", *w->said.path ? "it never had such a file"
                                            : "it has no raw files");
}

/* Whether a version of it may be found or sealed soon. */
static bool may_come (const struct agent *a)
{
    return sealer_pending (a->sealer) > 0 || watch_unsettled (a->watch) > 0 ||
           a->captures.failed > 0 || !a->search.looked;
}

static void look (struct agent *a, struct agent_want *w, struct message *m)
{
    struct spool_version v;
    bool gone;
    int rc;

    if (spool_redelivers (a->spool)) {
        m->have = HAVE_BUSY;    // what is durable here may be lost there
        return;
    }
    rc = spool_find_version (a->spool, w->said.capture, w->said.rank,
                             w->said.place, &v, NULL);
    if (rc <= 0) {
        m->have = rc < 0 || may_come (a) ? HAVE_BUSY : HAVE_NOT_HERE;
        PRINT (m->text, "its host knows no such capture");
        return;
    }
    if (v.id != w->version) {
        w->version = v.id;
        w->first = w->skipped = 0;
        w->not_before_ns = 0;
        w->sealed = w->sealing = w->again = false;
    }
    // what was sealed comes whatever becomes of the capture
    if ((gone = !w->sealed && !w->sealing && is_gone (v.path)))
        name_gone (a, w, v.path);
    m->have = HAVE_ALL_SAID;
    if (!gone && !w->sealed) {
        m->have = HAVE_BUSY;
        begin (a, w, &v);
    }
    count_files (a, w, m);
    if (m->have == HAVE_ALL_SAID)
        count_rest (w, gone, m);
}

static void answer (struct agent *a, struct agent_want *w)
{
    struct message m = { .type = MESSAGE_HAVE, .item = w->said.item };
    char elsewhere[MESSAGE_TEXT_MAX];

    if (a->opt->raw && agent_gives_raw_to (a, w->copy)) {
        look (a, w, &m);
    } else {
        m.have = HAVE_ALL_SAID;
        m.files = m.gone = 1;
        if (a->opt->raw)
            PRINT (m.text, "the raw files of its host go to %.700s (--spread)",
                   agent_raw_endpoints (a, elsewhere));
        else
            PRINT (m.text, "the agent of its host may not give raw files (it "
                   "runs without --raw)");
    }
    w->told = m.have != HAVE_BUSY;
    ship_have (a->ship, w->copy, &m);
}

/* ---- WANTs ---- */

static bool is_same (const struct message *a, const struct message *b)
{
    return a->item == b->item && a->rank == b->rank &&
           strcmp (a->capture, b->capture) == 0 &&
           strcmp (a->path, b->path) == 0 && strcmp (a->place, b->place) == 0;
}

static void forget (struct wants *all, size_t i)
{
    memmove (all->list + i, all->list + i + 1,
             (all->n - i - 1) * sizeof (*all->list));
    all->n--;
}

static struct agent_want *find (struct wants *all, unsigned copy,
                                const struct message *m)
{
    struct agent_want *w;

    for (size_t i = 0; i < all->n; i++) {
        if (all->list[i].copy == copy && is_same (&all->list[i].said, m))
            return &all->list[i];
    }
    if (all->n == WANTS_MAX)
        forget (all, 0);
    if ((w = vec_add (&all->list, &all->n, sizeof (*w)))) {
        w->said = *m;
        w->copy = copy;
    }
    return w;
}

void agent_on_want (void *arg, unsigned copy, const struct message *m)
{
    struct agent *a = arg;
    struct agent_want *w = find (&a->wants, copy, m);

    if (w)                      // otherwise it is repeated
        answer (a, w);
}

void agent_answer_wants (struct agent *a)
{
    for (size_t i = 0; i < a->wants.n; i++) {
        if (!a->wants.list[i].told)
            answer (a, &a->wants.list[i]);
    }
}

/* A failure that may pass is tried again when the WANT is repeated, but not at
 * once: a full disk stays full for a while.  The second time a file that cannot
 * be read is left out.
 */
void agent_take_wanted (struct agent *a, struct sealed *s)
{
    int64_t again_ns = clock_mono_ns () + AGENT_SEAL_AGAIN_NS;
    bool done;

    a->wants.sealing = false;
    if (s->rc == 0 && (s->rc = spool_add_raw (a->spool, s->id, s->items,
                                              s->nitems, &s->err)) < 0)
        seal_remove_links (s, 0);
    done = s->rc == 0;
    if (!done && !s->moved)
        log_warn ("seal-failed", "%s: %s", s->what.path, s->err.text);
    for (size_t i = 0; i < a->wants.n; i++) {
        struct agent_want *w = &a->wants.list[i];

        if (w->version != s->id || !w->sealing)
            continue;
        w->sealing = false;
        w->sealed = done;
        w->again = !done;
        w->not_before_ns = done ? 0 : again_ns;
        w->skipped = s->skipped;
        PRINT (w->why, "%.255s", s->skipped_why.text);
    }
    ship_kick (a->ship);
    agent_answer_wants (a);
    a->end.check (a);
}

void agent_close_wants (struct agent *a)
{
    free (a->wants.list);
}
