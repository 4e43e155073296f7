/* node_agent/throttle/bulk.c - throttle the thread that extracts, hashes and
 * compresses
 */
#include "throttle/bulk.h"

#include "base/clock.h"
#include "base/thread.h"
#include "throttle/bucket.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NICE 19
#define PPM 1000000
#define BURST_S 2               // seconds of budget that accumulate at most, so
                                // that the extraction of a small capture is not
                                // interrupted
#define REST_NS (50 * NS_PER_MS)    // at least, since to wake up costs, too

struct bulk {
    pthread_mutex_t lock;       // protects all below
    pthread_cond_t changed;
    struct bulk_decision decision;
    struct bucket budget;       // of CPU time in ns
    int64_t cpu_ns;             // of the thread, at its last pause
    pid_t tid;                  // 0: there is no thread yet
    bool can_idle, ending;
};

struct bulk_decision bulk_decide (const struct bulk_situation *s)
{
    bool late = s->waited_ns > s->limit_ns ||
                (s->spool_quota > 0 && s->spool_used >= s->spool_quota / 2);
    struct bulk_decision d = { .budgeted = s->job_alive };

    if (!s->job_alive)
        d.class = BULK_NORMAL;
    else
        d.class = late ? BULK_NICE : BULK_IDLE;
    d.hold = s->job_alive && s->collecting && !late;
    return d;
}

/* ---- the class of a thread ---- */

static int apply (pid_t tid, enum bulk_class class, bool can_idle)
{
    struct sched_param param = { .sched_priority = 0 };
    bool idle = class == BULK_IDLE && can_idle;

    if (sched_setscheduler (tid, idle ? SCHED_IDLE : SCHED_OTHER, &param) < 0)
        return -errno;
    // a lower nice value takes privileges; without them it stays at 19
    (void)setpriority (PRIO_PROCESS, (id_t)tid,
                       class == BULK_NORMAL ? 0 : NICE);
    return 0;
}

static void *try_idle (void *arg)
{
    pid_t tid = (pid_t)syscall (SYS_gettid);
    int *rc = arg;

    (void)setpriority (PRIO_PROCESS, (id_t)tid, NICE);
    if ((*rc = apply (tid, BULK_IDLE, true)) == 0)
        *rc = apply (tid, BULK_NICE, true);
    return NULL;
}

int bulk_probe_idle (void)
{
    pthread_t thread;
    int rc = 0, made = thread_start (&thread, try_idle, &rc);

    if (made < 0)
        return made;
    (void)pthread_join (thread, NULL);
    return rc;
}

/* ---- life ---- */

struct bulk *bulk_create (int64_t budget_ppm)
{
    struct bulk *b = calloc (1, sizeof (*b));
    pthread_condattr_t attr;
    int64_t rate;

    if (!b)
        return NULL;
    rate = sysconf (_SC_NPROCESSORS_ONLN) * budget_ppm * (NS_PER_S / PPM);
    bucket_init (&b->budget, rate, BURST_S * rate, clock_mono_ns ());
    b->can_idle = bulk_probe_idle () == 0;
    (void)pthread_mutex_init (&b->lock, NULL);
    (void)pthread_condattr_init (&attr);
    (void)pthread_condattr_setclock (&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init (&b->changed, &attr);
    (void)pthread_condattr_destroy (&attr);
    return b;
}

void bulk_destroy (struct bulk *b)
{
    if (!b)
        return;
    (void)pthread_cond_destroy (&b->changed);
    (void)pthread_mutex_destroy (&b->lock);
    free (b);
}

/* ---- for the loop ---- */

void bulk_set (struct bulk *b, const struct bulk_decision *d)
{
    (void)pthread_mutex_lock (&b->lock);
    if (b->tid > 0 && b->decision.class != d->class)
        (void)apply (b->tid, d->class, b->can_idle);
    b->decision = *d;
    (void)pthread_cond_signal (&b->changed);
    (void)pthread_mutex_unlock (&b->lock);
}

void bulk_end (struct bulk *b)
{
    (void)pthread_mutex_lock (&b->lock);
    b->ending = true;
    if (b->tid > 0)             // until its next pause
        (void)apply (b->tid, BULK_NORMAL, b->can_idle);
    (void)pthread_cond_signal (&b->changed);
    (void)pthread_mutex_unlock (&b->lock);
}

/* ---- for the thread ---- */

static int64_t thread_cpu_ns (void)
{
    struct timespec t;

    (void)clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

void bulk_attach (struct bulk *b)
{
    (void)pthread_mutex_lock (&b->lock);
    b->tid = (pid_t)syscall (SYS_gettid);
    (void)apply (b->tid, b->decision.class, b->can_idle);
    (void)pthread_mutex_unlock (&b->lock);
}

int64_t bulk_pause_ns (struct bulk *b, int64_t now_ns, int64_t cpu_ns)
{
    int64_t used = cpu_ns - b->cpu_ns, wait;

    b->cpu_ns = cpu_ns;
    if (b->ending)
        return 0;
    if (b->decision.budgeted)
        bucket_spend (&b->budget, used, now_ns);
    if (b->decision.hold)
        return -1;
    wait = b->decision.budgeted ? bucket_wait_ns (&b->budget, now_ns) : 0;
    return wait > 0 ? wait + REST_NS : 0;
}

static void wait_changed (struct bulk *b, int64_t until_ns)
{
    struct timespec t = { .tv_sec = until_ns / NS_PER_S,
                          .tv_nsec = until_ns % NS_PER_S };

    if (until_ns < 0)
        (void)pthread_cond_wait (&b->changed, &b->lock);
    else
        (void)pthread_cond_timedwait (&b->changed, &b->lock, &t);
}

int bulk_pause (struct bulk *b)
{
    int64_t now, pause;
    bool ending;

    (void)pthread_mutex_lock (&b->lock);
    while ((pause = bulk_pause_ns (b, now = clock_mono_ns (),
                                   thread_cpu_ns ())) != 0)
        wait_changed (b, pause < 0 ? -1 : now + pause);
    ending = b->ending;
    (void)pthread_mutex_unlock (&b->lock);
    return ending ? -ECANCELED : 0;
}
