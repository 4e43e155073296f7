/* common/base/status.c - what a daemon does now, for rollcall status */
#include "base/status.h"

#include "base/counter.h"
#include "base/fileio.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int64_t status_start_time (pid_t pid)
{
    char path[64], text[1024];
    const char *p;
    int fd;
    ssize_t n;

    (void)snprintf (path, sizeof (path), "/proc/%ld/stat", (long)pid);
    fd = open (path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read (fd, text, sizeof (text) - 1);
    if (fd >= 0)
        (void)close (fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    // the name is in parentheses and may hold anything; field 22 is wanted
    p = strrchr (text, ')');
    for (int field = 2; field < 22 && p; field++)
        p = strchr (p + 1, ' ');
    return p ? strtoll (p, NULL, 10) : 0;
}

struct json *status_begin (const char *program, const char *job,
                           const char *state)
{
    struct json *j = json_object (), *counters;

    json_add_text (j, "program", program);
    json_add_int (j, "pid", getpid ());
    json_add_int (j, "start_time", status_start_time (getpid ()));
    json_add_text (j, "job", job ? job : "");
    json_add_text (j, "state", state);
    counters = json_add_object (j, "counters");
    for (int c = 0; c < COUNTER_COUNT; c++)
        json_add_int (counters, counter_name ((enum counter)c),
                      (int64_t)counter_get ((enum counter)c));
    return j;
}

static bool write_file (const char *path, const char *text)
{
    char temp[PATH_MAX];
    int n = snprintf (temp, sizeof (temp), "%s.tmp.%ld", path,
                      (long)getpid ());
    int fd, rc;

    if (n < 0 || (size_t)n >= sizeof (temp))
        return false;
    fd = open (temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
               FILEIO_FILE_MODE);
    if (fd < 0)
        return false;
    rc = fileio_write_all (fd, text, strlen (text));
    (void)close (fd);
    if (rc == 0 && rename (temp, path) == 0)
        return true;
    (void)unlink (temp);
    return false;
}

void status_write (struct json *j, const char *path, char **last)
{
    char *text = json_print (j, true);

    json_free (j);
    if (text && (!*last || strcmp (text, *last) != 0) &&
        write_file (path, text)) {
        free (*last);
        *last = text;
        return;
    }
    free (text);
}
