/* common/json/status.c - status files of daemons, for rollcall status */
#include "json/status.h"

#include "base/counter.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPARE 4096u             // room for a reason, while the disk is full

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
    // the name is in parentheses, and may contain any byte; field 22 is needed
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

/* Copy 'text' and append blanks; the caller frees it.  NULL: no memory, or no
 * room.
 */
static char *padded (const char *text, size_t size)
{
    size_t used = strlen (text);
    char *out = used <= size ? malloc (size) : NULL;

    if (out) {
        memcpy (out, text, used);
        memset (out + used, ' ', size - used);
    }
    return out;
}

/* Write a new file with spare room for write_over. */
static bool write_file (const char *path, const char *text)
{
    size_t size = strlen (text) + SPARE;
    char temp[PATH_MAX], *all;
    int n = snprintf (temp, sizeof (temp), "%s.tmp.%ld", path,
                      (long)getpid ());
    int fd, rc;

    if (n < 0 || (size_t)n >= sizeof (temp))
        return false;
    fd = open (temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
               FILEIO_FILE_MODE);
    if (fd < 0)
        return false;
    all = padded (text, size);
    rc = all ? fileio_write_all (fd, all, size) : -ENOMEM;
    free (all);
    (void)close (fd);
    if (rc == 0 && rename (temp, path) == 0)
        return true;
    (void)unlink (temp);
    return false;
}

/* Overwrite the existing file, which takes no room: on a full disk an outdated
 * status must not remain.  A reader may see half of each once.
 */
static bool write_over (const char *path, const char *text)
{
    int fd = open (path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st = { .st_size = 0 };
    char *all = NULL;
    bool done;

    if (fd >= 0 && fstat (fd, &st) == 0 && st.st_size <= STATUS_MAX)
        all = padded (text, (size_t)st.st_size);
    done = all && fileio_pwrite_all (fd, all, (size_t)st.st_size, 0) == 0;
    free (all);
    if (fd >= 0)
        (void)close (fd);
    return done;
}

void status_write (struct json *j, const char *path, char **last)
{
    char *text = json_print (j, true);

    json_free (j);
    if (text && (!*last || strcmp (text, *last) != 0) &&
        (write_file (path, text) || write_over (path, text))) {
        free (*last);
        *last = text;
        return;
    }
    free (text);
}

struct json *status_read (const char *path, struct buf *text, bool *alive)
{
    int64_t pid = 0, start_time = 0;
    struct json *j = NULL;

    if (fileio_read_at (AT_FDCWD, path, text, NULL) == 0)
        j = json_parse ((const char *)text->data, text->size, NULL);
    *alive = json_int (json_get (j, "pid"), &pid) &&
             json_int (json_get (j, "start_time"), &start_time) &&
             status_start_time ((pid_t)pid) == start_time;
    return j;
}
