/* common/base/thread.h - a thread with all signals blocked */
#ifndef ROLLCALL_BASE_THREAD_H
#define ROLLCALL_BASE_THREAD_H

#include <pthread.h>

/* Start a thread as pthread_create does, with all signals blocked in it: the
 * loop or the calling thread handles them.  Returns 0 or -errno.
 */
int thread_start (pthread_t *thread, void *(*fn) (void *arg), void *arg);

#endif
