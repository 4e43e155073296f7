/* cli/cli_archive.c - shared by the verbs that read a root */
#include "cli.h"

#include "archive/archive.h"
#include "archive/root_control.h"

#include <errno.h>
#include <string.h>

bool cli_valid_job (const char *name)
{
    return *name && strlen (name) < MESSAGE_NAME_MAX && !strchr (name, '/') &&
           strcmp (name, ".") != 0 && strcmp (name, "..") != 0;
}

int cli_open_archive (const struct command_spec *c, const char *root,
                      struct archive *ret)
{
    struct err err = { "" };
    int rc = archive_open (root, ret, &err);

    if (rc == 0)
        return 0;
    if (rc == -ENOENT)
        return cli_fail (c, EX_NOINPUT, "%s (is %s the --root of an "
                         "aggregator?)", err.text, root);
    return cli_fail (c, rc == -EBADMSG ? EX_DATAERR : EX_NOINPUT, "%s",
                     err.text);
}

int cli_ask (const struct command_spec *c, const char *root,
             struct json *request, struct json **answer, bool *served)
{
    struct err err = { "" };
    int rc = control_ask (root, request, answer, served, &err);

    return rc == 0 ? 0
                   : cli_fail (c, rc == -EINVAL   ? EXIT_USAGE
                                  : rc == -ENOENT ? EX_NOINPUT
                                  : rc == -EBUSY  ? EX_TEMPFAIL
                                  : rc == -EBADMSG ? EX_DATAERR
                                  : rc == -EACCES || rc == -EPERM ? EX_NOPERM
                                                                  : EX_IOERR,
                               "%s", err.text);
}
