/* node_agent/offline_analysis/memory.h - measure the memory for another program */
#ifndef ROLLCALL_OFFLINE_ANALYSIS_MEMORY_H
#define ROLLCALL_OFFLINE_ANALYSIS_MEMORY_H

#include <stdint.h>

/* Bytes of memory of the machine, in all and available.  Both are limited by
 * the control groups (version 2) of this process, such as that of a batch job.
 * 'root' is prepended to /proc and /sys; it is "" except in tests.  0: not
 * known.
 */
uint64_t memory_total (const char *root);
uint64_t memory_available (const char *root);

#endif
