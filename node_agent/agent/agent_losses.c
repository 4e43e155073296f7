/* node_agent/agent/agent_losses.c - what will not be delivered
 *
 * The spool remembers it, so that it is said in every life, whoever was there
 * to hear it in the one in which it happened.
 */
#include "agent/agent_private.h"

#include "base/buf.h"
#include "base/counter.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static void say_lost (struct agent *a, const char *text)
{
    agent_note (a, LOG_LEVEL_WARN, "lost", "host %s: %s", a->self.host, text);
}

/* A capture that was damaged in the spool, or lost by the aggregator, and is
 * where it was: it is read again if it is below what is watched.
 */
static bool may_come_back (const char *path, bool again)
{
    return again && (access (path, F_OK) == 0 || errno != ENOENT);
}

static void recall_loss (void *arg, const char *path, bool again,
                         const char *text)
{
    if (!may_come_back (path, again))
        say_lost (arg, text);
}

static void explain_loss (void *arg, const char *path, bool again,
                          const char *text)
{
    if (may_come_back (path, again))
        say_lost (arg, text);
}

void agent_recall_losses (struct agent *a)
{
    (void)spool_each_lost (a->spool, recall_loss, a, NULL);
}

void agent_explain_losses (struct agent *a)
{
    (void)spool_each_lost (a->spool, explain_loss, a, NULL);
}

/* If the ledger cannot tell it is not known that nothing is. */
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
