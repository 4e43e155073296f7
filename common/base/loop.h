/* common/base/loop.h - one thread that waits for descriptors and times
 *
 * Callbacks run one after the other, never nested.  A callback may add and
 * remove anything, itself included.
 */
#ifndef ROLLCALL_BASE_LOOP_H
#define ROLLCALL_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;

typedef void loop_fn (void *arg);
typedef void loop_signal_fn (void *arg, int signo);

struct loop *loop_create (void);        // NULL: no memory
void loop_destroy (struct loop *l);     // l may be NULL

/* Call 'fn' whenever 'fd' is readable (or has hung up).  0 or -ENOMEM. */
int loop_add_fd (struct loop *l, int fd, loop_fn *fn, void *arg);
void loop_del_fd (struct loop *l, int fd);

/* Call 'fn' once, 'delay_ns' from now; the same (fn, arg) added again moves.
 * 0 or -ENOMEM.
 */
int loop_add_timer (struct loop *l, int64_t delay_ns, loop_fn *fn, void *arg);
void loop_del_timer (struct loop *l, loop_fn *fn, void *arg);

/* Call 'fn' on every turn, before waiting; while 'pending' is true of the
 * source there is no waiting.  For descriptors that are edge-triggered.
 */
int loop_add_source (struct loop *l, bool (*pending) (void *arg), loop_fn *fn,
                     void *arg);
void loop_del_source (struct loop *l, void *arg);

/* Call 'fn' when SIGTERM or SIGINT comes, which ask a process to end.  Once for
 * each loop, before threads are started: the signals are blocked in this thread
 * and in those that it starts from now on, and stay so when the loop is gone.
 * 0, or -errno (of signalfd(2), -ENOMEM); then nothing is called.
 */
int loop_add_signals (struct loop *l, loop_signal_fn *fn, void *arg);

/* Until loop_stop, which may have been called before: then at once.  Returns
 * what that was given, or -errno of poll(2).
 */
int loop_run (struct loop *l);
void loop_stop (struct loop *l, int result);
bool loop_is_stopped (const struct loop *l);

#endif
