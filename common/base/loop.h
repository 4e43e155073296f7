/* common/base/loop.h - an event loop for descriptors and timers
 *
 * Callbacks run one after the other, never nested.  A callback may add and
 * remove anything, including itself.
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

/* Call 'fn' whenever 'fd' is readable or has hung up.  Returns 0 or -ENOMEM. */
int loop_add_fd (struct loop *l, int fd, loop_fn *fn, void *arg);
void loop_del_fd (struct loop *l, int fd);

/* Call 'fn' once, 'delay_ns' from now.  Adding the same (fn, arg) again moves
 * its timer.  Returns 0 or -ENOMEM.
 */
int loop_add_timer (struct loop *l, int64_t delay_ns, loop_fn *fn, void *arg);
void loop_del_timer (struct loop *l, loop_fn *fn, void *arg);

/* Call 'fn' on every turn, before waiting; the loop does not wait while
 * 'pending' returns true.  For edge-triggered descriptors.  Returns 0 or
 * -ENOMEM.
 */
int loop_add_source (struct loop *l, bool (*pending) (void *arg), loop_fn *fn,
                     void *arg);
void loop_del_source (struct loop *l, void *arg);

/* Call 'fn' on SIGTERM or SIGINT.  Call this once for a loop, before threads
 * are started: the signals are blocked in this thread and in threads that it
 * starts later, and stay blocked after the loop.  Returns 0, or -errno of
 * signalfd(2), or -ENOMEM.
 */
int loop_add_signals (struct loop *l, loop_signal_fn *fn, void *arg);

/* Run until loop_stop is called, possibly before.  Returns the argument of
 * loop_stop, or -errno of poll(2).
 */
int loop_run (struct loop *l);
void loop_stop (struct loop *l, int result);
bool loop_is_stopped (const struct loop *l);

#endif
