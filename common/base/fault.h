/* common/base/fault.h - fault points of the test build
 *
 * A point is before a write, fsync, rename, unlink or commit that matters for
 * delivery.  In the build with ROLLCALL_FAULTS a test chooses one by name; in
 * other builds FAULT is the constant 0. doc/reliability.md describes the tests.
 *
 *     ROLLCALL_FAULT=NAME[:PASS[:ACTION]]     at the PASSth time (1): ACTION
 *                                      is kill (SIGKILL to itself), enospc,
 *                                      eio, or damaged
 *     ROLLCALL_FAULT_ONCE=FILE         made when it happens; when it is there
 *                                      already nothing happens any more
 *     ROLLCALL_FAULT_TRACE=FILE        every name that is passed, one per line
 */
#ifndef ROLLCALL_BASE_FAULT_H
#define ROLLCALL_BASE_FAULT_H

#ifdef ROLLCALL_FAULTS

/* 0, or -ENOSPC, -EIO or -EBADMSG, which the caller handles as a failure of the
 * next operation; does not return for the action kill.
 */
int fault_hit (const char *name);

#define FAULT(name) fault_hit (name)
#else
#define FAULT(name) 0
#endif

#endif
