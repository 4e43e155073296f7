/* common/base/fault.h - fault points of the test build
 *
 * There is a point before each write, fsync, rename, unlink or commit that
 * matters for delivery.  In the build with ROLLCALL_FAULTS a test chooses one
 * by name; in other builds FAULT is the constant 0. doc/reliability.md
 * describes the tests.
 *
 *   ROLLCALL_FAULT=NAME[:PASS[:ACTION]]   do ACTION at the PASSth time
 *                                  (default 1): kill (SIGKILL to itself),
 *                                  enospc, eio, or damaged
 *   ROLLCALL_FAULT_ONCE=FILE       create FILE then; do nothing if it exists
 *   ROLLCALL_FAULT_TRACE=FILE      append the name of each point that is passed
 */
#ifndef ROLLCALL_BASE_FAULT_H
#define ROLLCALL_BASE_FAULT_H

#ifdef ROLLCALL_FAULTS

/* Returns 0, or -ENOSPC, -EIO or -EBADMSG, which the caller handles as a
 * failure of the next operation.  Does not return for the action kill.
 */
int fault_hit (const char *name);

#define FAULT(name) fault_hit (name)
#else
#define FAULT(name) 0
#endif

#endif
