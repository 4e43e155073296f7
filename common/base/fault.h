/* common/base/fault.h - places where the test build can make things go wrong
 *
 * A point stands before a write, fsync, rename, unlink or commit whose moment
 * matters for delivery.  In the build with ROLLCALL_FAULTS a test chooses one
 * by name; in any other build FAULT is the constant 0.  See doc/reliability.md
 * for what is done with them.
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

/* 0, or -ENOSPC, -EIO or -EBADMSG, which the caller treats as the failure of
 * what comes next; does not return when the action is to be killed.
 */
int fault_hit (const char *name);

#define FAULT(name) fault_hit (name)
#else
#define FAULT(name) 0
#endif

#endif
