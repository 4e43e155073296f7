/* common/base/thread.c - start a thread with all signals blocked */
#include "base/thread.h"

#include <signal.h>

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
