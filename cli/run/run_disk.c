/* cli/run/run_disk.c - find problems of the directories that captures may go to
 *
 * They are reported once per node: a failure when the profiler writes is too
 * late.
 */
#include "check/check.h"
#include "run/run.h"

#include "store/space.h"

#include <unistd.h>

struct looked_at {              // file systems, each once
    uint64_t ids[OPTION_LIST_MAX + 2];
    size_t n;
};

static bool is_new (struct looked_at *l, const char *dir)
{
    struct space s = { .id = 0 };

    (void)space_of (dir, &s, NULL);
    for (size_t i = 0; i < l->n; i++) {
        if (s.id && l->ids[i] == s.id)
            return false;
    }
    l->ids[l->n++] = s.id;
    return true;
}

static void warn_of_dir (const struct run *r, struct looked_at *l,
                         const char *dir, const char *when)
{
    const struct check checks[] = {
        check_room (dir, r->opt->expect_bytes), check_inodes (dir),
        check_local (dir),
    };
    // what is shared is so on every host: one says it
    size_t n = r->world.rank == 0 ? 3 : 2;

    if (!is_new (l, dir))
        return;
    for (size_t i = 0; i < n; i++) {
        if (checks[i].state != CHECK_OK)
            (void)RUN_FAIL (0, "warning: host %s: %s%s", r->host, when,
                            checks[i].text);
    }
}

void run_warn_of_disk (const struct run *r)
{
    struct looked_at l = { .n = 0 };
    char cwd[PATH_MAX];

    if (r->opt->launcher || r->world.local_rank > 0)
        return;                 // another one says it
    warn_of_dir (r, &l, r->dir, "");
    for (size_t i = 0; i < r->opt->watch.n; i++)
        warn_of_dir (r, &l, r->opt->watch.items[i], "");
    if (getcwd (cwd, sizeof (cwd)))
        warn_of_dir (r, &l, cwd, "if COMMAND's profiler writes into its "
                     "working directory: ");
}
