/* common/base/thread.h - a thread that leaves signals to the others */
#ifndef ROLLCALL_BASE_THREAD_H
#define ROLLCALL_BASE_THREAD_H

#include <pthread.h>

/* As pthread_create, with all signals blocked in the new thread: they are the
 * loop's, or the calling thread's.  0 or -errno.
 */
int thread_start (pthread_t *thread, void *(*fn) (void *arg), void *arg);

#endif
