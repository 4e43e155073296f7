/* common/base/thread.h - threads, with all signals blocked */
#ifndef ROLLCALL_BASE_THREAD_H
#define ROLLCALL_BASE_THREAD_H

#include "base/err.h"

#include <pthread.h>
#include <stddef.h>

/* Start a thread as pthread_create does, with all signals blocked in it: the
 * loop or the calling thread handles them.  Returns 0 or -errno.
 */
int thread_start (pthread_t *thread, void *(*fn) (void *arg), void *arg);

/* How many processors this process may use, 1 at least: a launcher, taskset or a
 * set of a control group leaves it some of those that there are.
 */
unsigned thread_processors (void);

/* The same of another process; 0: it is not known. */
unsigned thread_processors_of (pid_t pid);

/* Do n pieces of work in one thread or more, each with a state of its own: 'work'
 * in any order and at the same time, then 'in_turn' (which may be NULL) for one
 * piece at a time, in the order of their numbers, by the thread that did the
 * piece.  Both return 0 or a negative value, which ends all; that of the lowest
 * piece is returned, with its sentence.
 */
struct thread_pieces {
    size_t n;
    int (*work) (void *state, size_t piece, struct err *err);
    int (*in_turn) (void *state, size_t piece, struct err *err);
};

int thread_each (const struct thread_pieces *p, void *const *states,
                 unsigned threads, struct err *err);

#endif
