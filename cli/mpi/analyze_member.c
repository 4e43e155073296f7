/* cli/mpi/analyze_member.c - captures on a shared file system, read by several
 * processes
 *
 * This folder: rollcall build and analyze under mpirun.
 */
#include "mpi/team_verb.h"

#include "base/clock.h"
#include "builder/build_member.h"
#include "extract/extract.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file or directory, to be told from another one of this path. */
static void put_mark (struct buf *out, const char *path, bool of_time)
{
    struct stat st = { .st_ino = 0 };

    (void)stat (path, &st);
    wire_put_text (out, path);
    wire_put_u64 (out, st.st_ino);
    wire_put_i64 (out, of_time ? st.st_mtim.tv_sec * NS_PER_S +
                                     st.st_mtim.tv_nsec : 0);
}

/* Whether the same is here; its path goes to 'path'. */
static bool get_mark (struct wire *w, char path[PATH_MAX])
{
    struct stat st;
    uint64_t ino;
    int64_t ns;

    wire_text (w, path, PATH_MAX);
    ino = wire_u64 (w);
    ns = wire_i64 (w);
    return !w->failed && stat (path, &st) == 0 && st.st_ino == ino &&
           (ns == 0 ||
            ns == st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec);
}

void analyze_put_order (struct buf *out, const char *path)
{
    put_mark (out, path, true);
}

void analyze_put_settings (struct buf *out, char *const *dirs, size_t ndirs,
                           const char *const *captures, size_t n,
                           const char *steps)
{
    wire_put_text (out, steps);
    wire_put_u64 (out, ndirs + n);
    for (size_t i = 0; i < ndirs; i++)
        put_mark (out, dirs[i], false);         // results are put there
    for (size_t i = 0; i < n; i++)
        put_mark (out, captures[i], true);
}

static void tell_unseen (const char *path)
{
    char host[HOST_NAME_MAX + 1] = "";

    (void)gethostname (host, sizeof (host) - 1);
    (void)fprintf (stderr, "rollcall analyze: a process on %s takes no part: "
                   "%s is not there, or is another one than that of rank 0\n",
                   host, path);
}

/* The list may be longer than any path. */
static int get_steps (struct wire *w, struct steps_filter *steps,
                      struct err *err)
{
    uint32_t n = wire_u32 (w);
    const char *at = wire_bytes (w, n);
    char *list = at ? strndup (at, n) : NULL;
    int rc = 0;

    if (!at)
        rc = err_set (err, EBADMSG, "rank 0 sent something that is not understood "
                      "here");
    else if (!list)
        rc = err_set (err, ENOMEM, "no memory to read captures");
    else if (*list)
        rc = steps_parse (list, steps, err);
    free (list);
    return rc;
}

static int member_open (struct wire *settings, void **state, bool *sees,
                        struct err *err)
{
    struct steps_filter *steps = calloc (1, sizeof (*steps));
    char path[PATH_MAX];
    uint64_t n;
    int rc;

    if (!steps)
        return err_set (err, ENOMEM, "no memory to read captures");
    *state = steps;
    rc = get_steps (settings, steps, err);
    n = wire_u64 (settings);
    *sees = rc == 0;
    for (uint64_t i = 0; i < n && *sees; i++) {
        *sees = get_mark (settings, path);
        if (!*sees)
            tell_unseen (path);
    }
    return rc;
}

static int member_feed (void *state, struct wire *order,
                        const struct byte_source *remote,
                        const struct row_sink *sink, struct capture *c,
                        struct err *err)
{
    const struct steps_filter *steps = state;
    char path[PATH_MAX];

    (void)remote;
    return get_mark (order, path)
               ? extract_capture (path, steps, sink, c, err)
               : err_set (err, ESTALE, "%s is not the same as for rank 0", path);
}

const struct build_member analyze_member = {
    .open = member_open, .may_ask = false, .feed = member_feed, .close = free,
};
