/* cli/shared/root.c - shared by the verbs that read a root, or ask its owner */
#include "shared/root.h"

#include "shared/view.h"

#include "archive/archive_items.h"
#include "archive/root_control.h"
#include "store/fileio.h"
#include "store/root.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool cli_valid_job (const char *name)
{
    return *name && strlen (name) < MESSAGE_NAME_MAX && !strchr (name, '/') &&
           strcmp (name, ".") != 0 && strcmp (name, "..") != 0;
}

const char *cli_owner_text (const char *path, char out[PATH_MAX])
{
    const struct passwd *owner;
    struct stat st;

    out[0] = '\0';
    if (stat (path, &st) == 0 && (owner = getpwuid (st.st_uid)))
        (void)snprintf (out, PATH_MAX, " (it is of user %s)", owner->pw_name);
    return out;
}

int cli_no_root (const struct command_spec *c, const char *root, int rc,
                 const struct err *err)
{
    if (rc == -ENOENT)
        return cli_fail (c, EX_NOINPUT, ROOT_IS_NONE, root);
    if (rc == -EACCES && cli_needs_view (root))
        return cli_fail (c, EX_NOPERM, "%s: this is only for users who can read "
                         "the root", err->text);
    if (rc == -EACCES)
        return cli_fail (c, EX_NOPERM, "%s, and no service answers at %s (%s)",
                         err->text, control_users_socket (),
                         ROOT_SOCKET_VARIABLE);
    return cli_fail (c, cli_input_status (rc), "%s", err->text);
}

static int open_root (const struct command_spec *c, const char *root,
                      int (*fn) (const char *root, struct archive *a,
                                 struct err *err), struct archive *ret)
{
    struct err err = { "" };
    int rc = fn (root, ret, &err);

    ret->visible_to = cli_visible_to ();
    if (rc == 0)
        return 0;
    return cli_no_root (c, root, rc, &err);
}

int cli_open_archive (const struct command_spec *c, const char *root,
                      struct archive *ret)
{
    return open_root (c, root, archive_open, ret);
}

int cli_open_lists (const struct command_spec *c, const char *root,
                    struct archive *ret)
{
    return open_root (c, root, archive_open_lists, ret);
}

long cli_each_item (const struct command_spec *c, struct archive *a,
                    const char *job, bool by_rank, cli_item_fn *fn, void *arg)
{
    struct ledger_item item;
    struct err err = { "" };
    char **names = NULL;
    size_t n = 0;
    long count = 0;
    int rc = archive_jobs (a, &names, &n, &err);

    for (size_t i = 0; i < n; i++) {
        struct archive_items list = { .n = 0 };

        if (rc == 0 && (!job || strcmp (job, names[i]) == 0))
            rc = archive_list (a, names[i], NULL, &list, &err);
        if (by_rank)
            archive_sort_by_rank (&list);
        for (size_t k = 0; k < list.n && rc == 0; k++, count++) {
            archive_item (&list, k, &item);
            rc = fn (arg, a, &item);
        }
        archive_items_fini (&list);
        free (names[i]);
    }
    free (names);
    if (rc < 0 && err.text[0])
        (void)cli_fail (c, 0, "%s", err.text);
    return rc < 0 ? rc : count;
}

void cli_rest_read (struct ledger *l, const char *job, struct cli_rest *ret)
{
    if (ledger_get_fact (l, job, FACT_HOME, ret->home, NULL) < 0)
        ret->home[0] = '\0';
    if (ledger_get_fact (l, job, FACT_RAW_AT, ret->raw_at, NULL) < 0)
        ret->raw_at[0] = '\0';
}

int cli_no_rows (const struct command_spec *c, struct ledger *l,
                 const char *root, const char *job)
{
    struct cli_rest rest;

    cli_rest_read (l, job, &rest);
    if (ledger_newest (l, job, ITEM_RAW) == 0 ||
        ledger_newest (l, job, ITEM_ROWS) > 0)
        return 0;
    if (!*rest.home)
        return cli_fail (c, EX_NOINPUT, "%s has raw files of job %s, but no "
                         "rows, of which a result is built: they are on their "
                         "way, or were lost with another aggregator", root, job);
    return cli_fail (c, EX_NOINPUT, "%s has raw files of job %s, but no rows: "
                     "they are delivered to %s, which builds its result", root,
                     job, rest.home);
}

int cli_no_job (const struct command_spec *c, const char *root,
                const char *job, const char *more)
{
    char path[PATH_MAX], text[DELETION_TEXT_MAX];
    struct ledger_deletion d;
    struct ledger *l = NULL;
    int rc = 0, status = 0;

    // of a removed job nobody knows any more whose it was
    if (!cli_visible_to () &&
        fileio_join (path, sizeof (path), root, "ledger.db") &&
        ledger_open_quick (path, &l, NULL) == 0 &&
        (status = cli_no_rows (c, l, root, job)) == 0)
        rc = ledger_last_deletion (l, job, &d, NULL);
    ledger_close (l);
    if (status != 0)
        return status;
    if (rc != 1)
        return cli_fail (c, EX_NOINPUT, "there is no job %s in %s%s", job, root, more);
    ledger_deletion_text (&d, text);
    return cli_fail (c, EX_NOINPUT, "job %s was %s", job, text);
}

static int tell (const struct command_spec *c, int rc, const struct err *err)
{
    return rc == 0 ? 0
                   : cli_fail (c, rc == -EINVAL   ? EXIT_USAGE
                                  : rc == -ENOENT ? EX_NOINPUT
                                  : rc == -EBUSY || rc == -EAGAIN ? EX_TEMPFAIL
                                  : rc == -EBADMSG ? EX_DATAERR
                                  : rc == -EACCES || rc == -EPERM ? EX_NOPERM
                                                                  : EX_IOERR,
                               "%s", err->text);
}

int cli_ask (const struct command_spec *c, const char *root,
             struct json *request, struct json **answer, bool *served)
{
    struct err err = { "" };

    return tell (c, control_ask (root, request, answer, served, &err), &err);
}

int cli_ask_again (const struct command_spec *c, struct control_root *r,
                   struct json *request, struct json **answer)
{
    struct err err = { "" };
    bool served;

    return tell (c, control_ask_again (r, request, answer, &served, &err),
                 &err);
}
