/* node_agent/extract/rows/times.h - us of times in ns
 *
 * As a double a time since 1970 has a grain of a quarter of a us, so that two
 * ways of division differ in it, and each producer has its own.
 */
#ifndef ROLLCALL_EXTRACT_ROWS_TIMES_H
#define ROLLCALL_EXTRACT_ROWS_TIMES_H

#include <stdint.h>

/* Of durations, and of times that a database has as whole ns: the profiler
 * divides by 1000.0 there, which rounds twice.
 */
static inline double time_us (int64_t ns)
{
    return (double)ns / 1000.0;
}

/* Of times since 1970 that a file has as a decimal text of us: the double next
 * to that text, which the profiler has in its tables of such captures.
 */
static inline double time_us_of_text (int64_t ns)
{
    return (double)(ns / 1000) + (double)(ns % 1000) / 1000.0;
}

#endif
