/* common/base/thread.c - threads with all signals blocked, and how many of them */
#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define PROCESSORS_MAX 8192     // that a mask has room for: Linux has no more

int thread_start (pthread_t *thread, void *(*fn) (void *arg), void *arg)
{
    sigset_t all, old;
    int rc;

    (void)sigfillset (&all);
    (void)pthread_sigmask (SIG_SETMASK, &all, &old);
    rc = -pthread_create (thread, NULL, fn, arg);
    (void)pthread_sigmask (SIG_SETMASK, &old, NULL);
    return rc;
}

unsigned thread_processors_of (pid_t pid)
{
    const size_t size = CPU_ALLOC_SIZE (PROCESSORS_MAX);
    cpu_set_t *mask = CPU_ALLOC (PROCESSORS_MAX);
    int n = mask && sched_getaffinity (pid, size, mask) == 0
                ? CPU_COUNT_S (size, mask) : 0;

    CPU_FREE (mask);
    return (unsigned)n;
}

unsigned thread_processors (void)
{
    long n = thread_processors_of (0);

    if (n == 0)
        n = sysconf (_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : (unsigned)n;
}

/* ---- pieces of work ---- */

struct crew {
    const struct thread_pieces *pieces;
    pthread_mutex_t lock;       // over all below
    pthread_cond_t turned;
    size_t next, turn;          // to be begun; whose turn it is
    size_t failed;              // the lowest piece that did, if 'rc' says so
    int rc;
    struct err err;
};

struct crew_member {
    struct crew *crew;
    void *state;
    pthread_t thread;
    bool started;
};

/* The next piece; false: there is none, or it is of no use any more. */
static bool take_piece (struct crew *c, size_t *piece)
{
    bool some;

    (void)pthread_mutex_lock (&c->lock);
    *piece = c->next;
    some = c->rc == 0 && c->next < c->pieces->n;
    c->next += some;
    (void)pthread_mutex_unlock (&c->lock);
    return some;
}

/* Failures of pieces before this one are known when their turn is over. */
static void end_piece (struct crew *c, void *state, size_t piece, int rc,
                       const struct err *err)
{
    (void)pthread_mutex_lock (&c->lock);
    while (c->pieces->in_turn && c->turn != piece)
        (void)pthread_cond_wait (&c->turned, &c->lock);
    if (rc < 0 && (c->rc == 0 || piece < c->failed)) {
        c->err = *err;
        c->rc = rc;
        c->failed = piece;
    }
    if (c->rc == 0 && c->pieces->in_turn) {
        c->rc = c->pieces->in_turn (state, piece, &c->err);
        c->failed = piece;
    }
    c->turn++;
    (void)pthread_cond_broadcast (&c->turned);
    (void)pthread_mutex_unlock (&c->lock);
}

static void *do_pieces (void *arg)
{
    struct crew_member *m = arg;
    struct err err = { "" };
    size_t piece;

    while (take_piece (m->crew, &piece)) {
        int rc = m->crew->pieces->work (m->state, piece, &err);

        end_piece (m->crew, m->state, piece, rc, &err);
    }
    return NULL;
}

int thread_each (const struct thread_pieces *p, void *const *states,
                 unsigned threads, struct err *err)
{
    struct crew c = { .pieces = p };
    struct crew_member *members = calloc (threads, sizeof (*members));

    if (!members)
        return err_set (err, ENOMEM, "no memory for threads");
    (void)pthread_mutex_init (&c.lock, NULL);
    (void)pthread_cond_init (&c.turned, NULL);
    // the calling thread is one of them: with it alone all are done, too
    for (unsigned i = 0; i < threads; i++) {
        members[i] = (struct crew_member){ .crew = &c, .state = states[i] };
        if (i > 0)
            members[i].started = thread_start (&members[i].thread, do_pieces,
                                               &members[i]) == 0;
    }
    (void)do_pieces (&members[0]);
    for (unsigned i = 1; i < threads; i++) {
        if (members[i].started)
            (void)pthread_join (members[i].thread, NULL);
    }
    (void)pthread_cond_destroy (&c.turned);
    (void)pthread_mutex_destroy (&c.lock);
    free (members);
    if (c.rc < 0 && err)
        *err = c.err;
    return c.rc;
}
