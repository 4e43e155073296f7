/* common/base/loop.c - an event loop for descriptors and timers
 *
 * It uses poll(2), since a node has only some tens of descriptors.  Entries
 * that are removed while callbacks run are marked, and deleted before the next
 * wait.
 */
#include "base/loop.h"

#include "base/clock.h"
#include "base/vec.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct watch {
    int fd;                     // -1: removed
    loop_fn *fn;
    void *arg;
};

struct timer {
    int64_t at_ns;
    loop_fn *fn;                // NULL: removed
    void *arg;
};

struct source {
    bool (*pending) (void *arg);
    loop_fn *fn;                // NULL: removed
    void *arg;
};

struct signals {
    int fd;                     // -1: none
    loop_signal_fn *fn;
    void *arg;
};

struct loop {
    struct watch *watches;
    struct pollfd *polls;
    size_t nwatches;
    struct timer *timers;
    size_t ntimers;
    struct source *sources;
    size_t nsources;
    struct signals signals;
    bool stopped;
    int result;
};

struct loop *loop_create (void)
{
    struct loop *l = calloc (1, sizeof (*l));

    if (l)
        l->signals.fd = -1;
    return l;
}

void loop_destroy (struct loop *l)
{
    if (!l)
        return;
    if (l->signals.fd >= 0)
        (void)close (l->signals.fd);
    free (l->watches);
    free (l->polls);
    free (l->timers);
    free (l->sources);
    free (l);
}

int loop_add_fd (struct loop *l, int fd, loop_fn *fn, void *arg)
{
    struct watch w = { fd, fn, arg };
    struct pollfd *p = vec_one_more (l->polls, l->nwatches, sizeof (*p));

    if (!p)
        return -ENOMEM;
    l->polls = p;
    return vec_push (&l->watches, &l->nwatches, &w, sizeof (w));
}

void loop_del_fd (struct loop *l, int fd)
{
    for (size_t i = 0; i < l->nwatches; i++) {
        if (l->watches[i].fd == fd)
            l->watches[i].fd = -1;
    }
}

int loop_add_timer (struct loop *l, int64_t delay_ns, loop_fn *fn, void *arg)
{
    struct timer t = { clock_mono_ns () + delay_ns, fn, arg };

    for (size_t i = 0; i < l->ntimers; i++) {
        if (l->timers[i].fn == fn && l->timers[i].arg == arg) {
            l->timers[i] = t;
            return 0;
        }
    }
    return vec_push (&l->timers, &l->ntimers, &t, sizeof (t));
}

void loop_del_timer (struct loop *l, loop_fn *fn, void *arg)
{
    for (size_t i = 0; i < l->ntimers; i++) {
        if (l->timers[i].fn == fn && l->timers[i].arg == arg)
            l->timers[i].fn = NULL;
    }
}

int loop_add_source (struct loop *l, bool (*pending) (void *arg), loop_fn *fn,
                     void *arg)
{
    struct source s = { pending, fn, arg };

    return vec_push (&l->sources, &l->nsources, &s, sizeof (s));
}

void loop_del_source (struct loop *l, void *arg)
{
    for (size_t i = 0; i < l->nsources; i++) {
        if (l->sources[i].arg == arg)
            l->sources[i].fn = NULL;
    }
}

static void on_signal (void *arg)
{
    const struct signals *s = arg;
    struct signalfd_siginfo info;

    if (read (s->fd, &info, sizeof (info)) == sizeof (info))
        s->fn (s->arg, (int)info.ssi_signo);
}

int loop_add_signals (struct loop *l, loop_signal_fn *fn, void *arg)
{
    sigset_t set;
    int fd, rc;

    (void)sigemptyset (&set);
    (void)sigaddset (&set, SIGTERM);
    (void)sigaddset (&set, SIGINT);
    (void)sigprocmask (SIG_BLOCK, &set, NULL);
    if ((fd = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
        return -errno;
    if ((rc = loop_add_fd (l, fd, on_signal, &l->signals)) < 0) {
        (void)close (fd);
        return rc;
    }
    l->signals = (struct signals){ fd, fn, arg };
    return 0;
}

static void sweep (struct loop *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->nwatches; i++) {
        if (l->watches[i].fd >= 0)
            l->watches[n++] = l->watches[i];
    }
    l->nwatches = n;
    n = 0;
    for (size_t i = 0; i < l->ntimers; i++) {
        if (l->timers[i].fn)
            l->timers[n++] = l->timers[i];
    }
    l->ntimers = n;
    n = 0;
    for (size_t i = 0; i < l->nsources; i++) {
        if (l->sources[i].fn)
            l->sources[n++] = l->sources[i];
    }
    l->nsources = n;
}

static int wait_ms (const struct loop *l)
{
    int64_t now = clock_mono_ns (), least = INT64_MAX;

    for (size_t i = 0; i < l->nsources; i++) {
        if (l->sources[i].pending (l->sources[i].arg))
            return 0;
    }
    for (size_t i = 0; i < l->ntimers; i++) {
        if (l->timers[i].at_ns < least)
            least = l->timers[i].at_ns;
    }
    if (least == INT64_MAX)
        return -1;
    if (least <= now)
        return 0;
    least = (least - now + NS_PER_MS - 1) / NS_PER_MS;
    return least > 60000 ? 60000 : (int)least;
}

static void run_timers (struct loop *l)
{
    int64_t now = clock_mono_ns ();
    size_t n = l->ntimers;      // without timers that are added meanwhile

    for (size_t i = 0; i < n && !l->stopped; i++) {
        struct timer t = l->timers[i];

        if (!t.fn || t.at_ns > now)
            continue;
        l->timers[i].fn = NULL;
        t.fn (t.arg);
    }
}

static void run_watches (struct loop *l, size_t n)
{
    for (size_t i = 0; i < n && !l->stopped; i++) {
        struct watch w = l->watches[i];

        if (w.fd >= 0 && w.fd == l->polls[i].fd && l->polls[i].revents)
            w.fn (w.arg);
    }
}

static void run_sources (struct loop *l)
{
    size_t n = l->nsources;

    for (size_t i = 0; i < n && !l->stopped; i++) {
        struct source s = l->sources[i];

        if (s.fn && s.pending (s.arg))
            s.fn (s.arg);
    }
}

int loop_run (struct loop *l)
{
    while (!l->stopped) {
        size_t n;

        sweep (l);
        n = l->nwatches;
        for (size_t i = 0; i < n; i++)
            l->polls[i] = (struct pollfd){ .fd = l->watches[i].fd,
                                           .events = POLLIN };
        if (poll (l->polls, (nfds_t)n, wait_ms (l)) < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        run_watches (l, n);
        if (!l->stopped)
            run_sources (l);
        if (!l->stopped)
            run_timers (l);
    }
    l->stopped = false;
    return l->result;
}

void loop_stop (struct loop *l, int result)
{
    l->stopped = true;
    l->result = result;
}

bool loop_is_stopped (const struct loop *l)
{
    return l->stopped;
}
