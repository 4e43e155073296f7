/* node_agent/discovery/finder.c - search large directories in a thread */
#include "discovery/finder.h"

#include "base/clock.h"
#include "base/thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct finder {
    struct loop *loop;
    finder_fn *done;
    void *arg;
    int wake_fd;
    pthread_t thread;
    bool busy;                  // the thread owns the results
    struct finder_result *results;
    size_t n;
    atomic_bool cancel;
};

static void *finder_search (void *arg)
{
    struct finder *f = arg;
    uint64_t one = 1;
    ssize_t written;

    for (size_t i = 0; i < f->n && !atomic_load (&f->cancel); i++) {
        struct finder_result *r = &f->results[i];

        r->list.cancel = &f->cancel;
        r->list.names_only = true;      // there may be thousands of files
        r->rc = find_captures (r->dir, &r->list, &r->err);
    }
    written = write (f->wake_fd, &one, sizeof (one));
    (void)written;
    return NULL;
}

static void free_results (struct finder *f)
{
    for (size_t i = 0; i < f->n; i++) {
        find_free (&f->results[i].list);
        find_limit_free (&f->results[i].limit);
        free (f->results[i].dir);
    }
    free (f->results);
    f->results = NULL;
    f->n = 0;
}

static void on_ended (void *arg)
{
    struct finder *f = arg;
    uint64_t count;

    if (read (f->wake_fd, &count, sizeof (count)) < 0)
        return;
    (void)pthread_join (f->thread, NULL);
    f->busy = false;
    f->done (f->arg, f->results, f->n);
    free_results (f);
}

static int finder_prepare (struct finder_result *r, const struct finder_dir *d)
{
    r->limit = (struct find_limit){ .since_ns = d->since_ns,
                                    .entries = FIND_ENTRIES_MAX,
                                    .time_ns = FIND_TIME_NS,
                                    .now = clock_mono_ns };
    r->list.limit = d->bounded ? &r->limit : NULL;
    return (r->dir = strdup (d->path)) ? 0 : -ENOMEM;
}

int finder_start (struct finder *f, const struct finder_dir *dirs, size_t n)
{
    int rc = 0;

    if (f->busy)
        return -EBUSY;
    if (!(f->results = calloc (n + 1, sizeof (*f->results))))
        return -ENOMEM;
    for (; f->n < n && rc == 0; f->n++)
        rc = finder_prepare (&f->results[f->n], &dirs[f->n]);
    if (rc == 0)
        rc = thread_start (&f->thread, finder_search, f);
    f->busy = rc == 0;
    if (rc < 0)
        free_results (f);
    return rc;
}

bool finder_is_busy (const struct finder *f)
{
    return f->busy;
}

int finder_create (struct loop *loop, finder_fn *done, void *arg,
                   struct finder **ret, struct err *err)
{
    struct finder *f = calloc (1, sizeof (*f));
    int rc;

    if (!f)
        return err_set (err, ENOMEM, "no memory to search");
    f->loop = loop;
    f->done = done;
    f->arg = arg;
    f->wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    rc = f->wake_fd < 0 ? -errno : loop_add_fd (loop, f->wake_fd, on_ended, f);
    if (rc < 0) {
        finder_destroy (f);
        return err_sys (err, -rc, "cannot begin to search");
    }
    *ret = f;
    return 0;
}

void finder_destroy (struct finder *f)
{
    if (!f)
        return;
    atomic_store (&f->cancel, true);
    if (f->busy)
        (void)pthread_join (f->thread, NULL);
    if (f->wake_fd >= 0) {
        loop_del_fd (f->loop, f->wake_fd);
        (void)close (f->wake_fd);
    }
    free_results (f);
    free (f);
}
