/* node_agent/analyse/memory.h - the memory available for another program */
#ifndef ROLLCALL_ANALYSE_MEMORY_H
#define ROLLCALL_ANALYSE_MEMORY_H

#include <stdint.h>

/* Bytes of the machine, in all and free.  This process' control groups (version
 * 2), as that of a batch job, limit both.  'root' is put before /proc and /sys,
 * "" except in tests.  0: not known.
 */
uint64_t memory_total (const char *root);
uint64_t memory_available (const char *root);

#endif
