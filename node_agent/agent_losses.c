/* node_agent/agent_losses.c - what will not be delivered
 *
 * The spool remembers it, so that it is said in every life, whoever was there
 * to hear it in the one in which it happened.
 */
#include "agent_inside.h"

#include "base/counter.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static void say_lost (struct agent *a, const char *text)
{
    char note[MESSAGE_TEXT_MAX];

    (void)snprintf (note, sizeof (note), "host %s: %s", a->host, text);
    log_text (LOG_LEVEL_WARN, "lost", "%s", note);
    (void)ship_note (a->ship, note);
}

/* A capture that was damaged in the spool and is where it was: it is read again
 * if it is below what is watched.
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
           counter_get (COUNTER_CAPTURES_REFUSED) > 0;
}

void agent_sum_up (struct agent *a, char *text, size_t size)
{
    int lost = spool_each_lost (a->spool, NULL, NULL, NULL);
    size_t unsealed = agent_count_unsealed (a);
    unsigned long long refused = counter_get (COUNTER_CAPTURES_REFUSED);

    *text = '\0';
    if (lost < 0)
        (void)snprintf (text, size, "host %s: the ledger in %s cannot tell "
                        "whether everything was delivered", a->host,
                        a->spool_dir);
    else if (lost > 0 || unsealed > 0 || refused > 0)
        (void)snprintf (text, size, "host %s: not everything is delivered: "
                        "captures that could not be put into the spool: %zu, "
                        "that were refused: %llu, that are lost, or files of "
                        "them: %d; the log of its agent names them, its spool "
                        "is %.400s", a->host, unsealed, refused, lost,
                        a->spool_dir);
}
