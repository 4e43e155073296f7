/* aggregator/service/aggregator_askers.c - who may ask for what */
#include "service/aggregator_private.h"

#include "base/log.h"
#include "store/fileio.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

static int refuse_all (const struct aggregator *a, const char *what,
                       struct err *err)
{
    const char *others = a->opt->operators.text;

    return err_set (err, EACCES, "\"%.40s\" is for operators of this root: "
                    "its owner, root%s%s", what, *others ? ", " : "", others);
}

/* The name of a user of this host, for comparisons with those that captures
 * name.
 */
static const char *name_of (const struct control_peer *peer, struct err *err)
{
    const struct passwd *p = getpwuid (peer->uid);

    if (!p)
        (void)err_set (err, EACCES, "this host has no name for user %ld",
                       (long)peer->uid);
    return p ? p->pw_name : NULL;
}

int aggregator_may_ask (struct aggregator *a, const struct control_peer *peer,
                        const struct json *request, const char **visible_to,
                        struct err *err)
{
    const char *what = json_text (json_get (request, "do"), "");
    const char *job = json_text (json_get (request, "job"), "");
    int rc;

    *visible_to = NULL;
    if (operators_have (&a->opt->operators, peer))
        return 0;
    if (strcmp (what, "view") != 0 && strcmp (what, "fetch") != 0)
        return refuse_all (a, what, err);
    if (!(*visible_to = name_of (peer, err)))
        return -EACCES;
    if (strcmp (what, "view") == 0)
        return 0;
    if ((rc = ledger_is_of_user (a->ledger, job, *visible_to,
                                 err)) < 0)
        return rc;
    return rc == 1 ? 0 : err_set (err, ENOENT, "there is no job %.200s of user "
                                  "%s here: rollcall jobs lists those", job,
                                  *visible_to);
}

/* A path of somebody else may be one where stat never returns. */
bool aggregator_is_meant (const struct aggregator *a,
                          const struct control_peer *peer,
                          const struct json *request)
{
    const char *root = json_text (json_get (request, "root"), NULL);
    struct stat own, asked;

    if (!root || strcmp (root, a->root_path) == 0)
        return true;
    return peer->owner && stat (a->opt->root, &own) == 0 &&
           stat (root, &asked) == 0 && own.st_dev == asked.st_dev &&
           own.st_ino == asked.st_ino;
}

/* ---- over the network ---- */

/* Whose jobs the key may ask for: of a run nobody's, and without keys nobody
 * knows who asks.
 */
static int may_read (struct aggregator *a, const struct net_peer *from,
                     char reads[KEY_READS_SIZE], struct err *err)
{
    if (a->opt->job)
        return err_set (err, EACCES, "this is the aggregator of a run, which "
                        "answers nobody");
    if (!a->peer_access.keyring || !*from->who)
        return err_set (err, EACCES, "this aggregator has no keys, so it does "
                        "not know who asks: it needs --keys");
    return keyring_reads (a->peer_access.keyring, from->who, reads, err);
}

static void on_view_end (void *arg, struct json *answer)
{
    int64_t status = EX_SOFTWARE;

    (void)json_int (json_get (answer, "exit_status"), &status);
    answer_ended (arg, (int)status, json_text (json_get (answer, "why"), ""));
    json_free (answer);
}

/* Run the verb, which prints into pipes of ours. */
static int begin_answer (struct aggregator *a, const struct net_peer *from,
                         uint64_t item, const struct json *request,
                         const char *reads, struct err *err)
{
    const char *visible_to = strcmp (reads, KEY_READS_ALL) == 0 ? NULL : reads;
    struct view_asker asker = { .end = on_view_end, .limited = true };
    int pipes[ANSWER_STREAMS], rc;
    struct answer *x = answers_begin (a->answers, from, item, pipes, err);
    struct view *v = NULL;

    if (!x)
        return -EBUSY;
    PRINT (asker.who, "key %s", from->who);
    asker.out = pipes[ANSWER_OUT];
    asker.said = pipes[ANSWER_SAID];
    asker.arg = x;
    rc = aggregator_begin_view (a, &asker, request, visible_to, &v, err);
    fileio_close (pipes[ANSWER_OUT]);
    fileio_close (pipes[ANSWER_SAID]);
    if (rc < 0)
        answer_drop (x);
    else
        answer_runs (x, aggregator_end_view, v);
    return rc;
}

static int on_question (struct aggregator *a, const struct net_peer *from,
                        const struct message *m, struct err *err)
{
    char reads[KEY_READS_SIZE];
    struct json *request = NULL;
    struct logline l;
    int rc = may_read (a, from, reads, err);

    if (rc == 0 && !aggregator_has_root (a))
        rc = err_set (err, EIO, "its root no longer exists");
    if (rc == 0 &&
        (m->data_size > ANSWER_QUESTION_MAX ||
         !(request = json_parse (m->data, m->data_size, NULL)) ||
         strcmp (json_text (json_get (request, "do"), ""), "view") != 0))
        rc = err_set (err, EINVAL, "that is no question");
    if (rc == 0)
        rc = begin_answer (a, from, m->item, request, reads, err);
    if (rc == 0 || access_may_log (&a->peer_access)) {
        l = log_line (rc == 0 ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN, "asked");
        log_str (&l, "key", *from->who ? from->who : NULL);
        log_str (&l, "verb", json_text (json_get (request, "verb"), NULL));
        log_str (&l, "refused", rc < 0 ? err->text : NULL);
        log_end (&l);
    }
    json_free (request);
    return rc;
}

void aggregator_on_ask (struct aggregator *a, const struct net_peer *from,
                        const struct message *m)
{
    struct err err = { "" };
    char reads[KEY_READS_SIZE];
    int rc = m->type == MESSAGE_ASK ? on_question (a, from, m, &err)
                                    : may_read (a, from, reads, &err);

    if (rc < 0)
        answers_refuse (a->answers, from, m->item,
                        rc == -EACCES   ? EX_NOPERM
                        : rc == -EBUSY  ? EX_TEMPFAIL
                        : rc == -EINVAL ? EX_USAGE
                                        : EX_IOERR, err.text);
    else if (m->type == MESSAGE_MORE)
        answers_more (a->answers, from, m);
}
