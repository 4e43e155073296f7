/* node_agent/analyse/memory.h - how much memory there is for somebody else's
 * program
 */
#ifndef ROLLCALL_ANALYSE_MEMORY_H
#define ROLLCALL_ANALYSE_MEMORY_H

#include <stdint.h>

/* Bytes: of the machine, and what is free in it.  Control groups (version 2)
 * that this process is in bound both: that of a batch job, say.  'root' is put
 * before /proc and /sys, "" but for tests.  What cannot be told is 0.
 */
uint64_t memory_total (const char *root);
uint64_t memory_available (const char *root);

#endif
