/* node_agent/agent/agent_losses.c - what will not be delivered
 *
 * The spool records losses, so that every later agent reports them, too.  This
 * file also explains why a rank has no capture.
 */
#include "agent/agent_private.h"

#include "agent/agent_delivery.h"
#include "agent/agent_local.h"
#include "base/buf.h"
#include "base/counter.h"
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* A capture that was damaged in the spool, or lost by the aggregator, and still
 * exists: it is read again if it is below a watched directory.
 */
static bool may_come_back (const char *path, bool again)
{
    return again && (access (path, F_OK) == 0 || errno != ENOENT);
}

static void recall_loss (void *arg, const char *path, bool again,
                         const char *text)
{
    if (!may_come_back (path, again))
        agent_note (arg, LOG_LEVEL_WARN, "lost", "%s", text);
}

static void explain_loss (void *arg, const char *path, bool again,
                          const char *text)
{
    if (may_come_back (path, again))
        agent_note (arg, LOG_LEVEL_WARN, "lost", "%s", text);
}

void agent_recall_losses (struct agent *a)
{
    (void)spool_each_lost (a->spool, recall_loss, a, NULL);
}

void agent_explain_losses (struct agent *a)
{
    (void)spool_each_lost (a->spool, explain_loss, a, NULL);
}

/* If the ledger cannot be read, nobody knows that nothing is lost. */
bool agent_has_losses (struct agent *a)
{
    return spool_each_lost (a->spool, NULL, NULL, NULL) != 0 ||
           counter_get (COUNTER_CAPTURES_REFUSED) > 0 || a->seals.late > 0 ||
           agent_count_doubtful (a) > 0;
}

static void add_count (struct buf *b, const char *what, uint64_t n)
{
    if (n > 0)
        buf_printf (b, "%s %llu %s", b->size ? "," : "",
                    (unsigned long long)n, what);
}

void agent_sum_up (struct agent *a, char *text, size_t size)
{
    int lost = spool_each_lost (a->spool, NULL, NULL, NULL);
    struct buf counts;

    buf_init (&counts, MESSAGE_TEXT_MAX);
    add_count (&counts, "not put into the spool", a->captures.failed);
    add_count (&counts, "refused", counter_get (COUNTER_CAPTURES_REFUSED));
    add_count (&counts, "lost, or raw files of them",
               lost > 0 ? (uint64_t)lost : 0);
    add_count (&counts, "removed, except for files that came later",
               a->seals.late);
    add_count (&counts, "of this job or of another one",
               agent_count_doubtful (a));
    if (a->search.flushed)             // nobody waits for these
        add_count (&counts, "found or written too late to be read",
                   watch_unsettled (a->watch));
    if (lost < 0)
        buf_printf (&counts, " some, probably: the ledger is damaged");
    *text = '\0';
    if (counts.size > 0)
        (void)snprintf (text, size, "host %s: captures that are not delivered:"
                        "%.200s; agent.log and the notes name them (the spool "
                        "is %.400s)", a->self.host, buf_text (&counts),
                        a->spool_dir);
    buf_fini (&counts);
}

/* ---- of ranks ---- */

/* A capture that exists but was not taken may be the one that somebody looks
 * for: if the clock was set back, it is this job's.
 */
static void say_no_capture (struct agent *a, const struct local_rank *r,
                            char *out, size_t size)
{
    size_t older = watch_count_older (a->watch);
    int n = snprintf (out, size, "%.500s%sit wrote no capture below %.360s",
                      r->text, r->text[0] ? "; " : "",
                      r->dirs ? r->dirs : "its directories");

    if (older > 0 && n > 0 && (size_t)n < size)
        (void)snprintf (out + n, size - (size_t)n, " (left out: %zu capture%s "
                        "last changed before COMMAND began, by this host's "
                        "clock)", older, units_s (older));
}

struct loss {                   // of a capture below 'dir'
    const char *dir;
    char text[SPOOL_LOSS_MAX];
};

static void take_loss (void *arg, const char *path, bool again,
                       const char *text)
{
    struct loss *l = arg;

    (void)again;
    if (agent_is_below (path, l->dir))
        PRINT (l->text, "%s", text);
}

/* Why a capture of this rank is not, or will not be, delivered; "". */
static void find_loss (struct agent *a, const struct local_rank *r,
                       struct loss *ret)
{
    const struct capture_object *u = NULL;

    *ret = (struct loss){ .dir = r->capture_dir };
    if (!ret->dir)
        return;
    while ((u = capture_object_next_failed (&a->captures, u)) &&
           !agent_is_below (u->path, ret->dir))
        continue;
    if (u)
        PRINT (ret->text, "%s", u->why.text);
    else
        (void)spool_each_lost (a->spool, take_loss, ret, NULL);
}

static void explain_rank (struct agent *a, struct local_rank *r)
{
    char text[MESSAGE_TEXT_MAX], doubt[MESSAGE_TEXT_MAX];
    struct loss loss;

    if (r->launches)
        return;
    find_loss (a, r, &loss);
    if (spool_has_rank (a->spool, r->rank))
        PRINT (text, "%s", r->text);
    else if (loss.text[0])
        PRINT (text, "%.500s%sits capture was not delivered: %.400s", r->text,
               r->text[0] ? "; " : "", loss.text);
    else if (a->room.held && r->capture_dir &&
             watch_count_below (a->watch, r->capture_dir) > 0)
        PRINT (text, "%.500s%sits capture waits on its node for room: %.400s",
               r->text, r->text[0] ? "; " : "", a->room.disk_quota.why.text);
    else if (agent_explain_doubt (a, doubt, sizeof (doubt)))
        PRINT (text, "%.200s%s%.820s", r->text, r->text[0] ? "; " : "", doubt);
    else
        say_no_capture (a, r, text, sizeof (text));
    (void)ship_rank (a->ship, r->rank, r->local_rank, RANK_ENDED, r->status,
                     text, &r->end);
}

void agent_explain_ranks (struct agent *a)
{
    for (struct local_rank *r = a->local.ranks; r; r = r->next)
        explain_rank (a, r);
}
