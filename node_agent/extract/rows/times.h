/* node_agent/extract/rows/times.h - convert ns to us as the profilers do
 *
 * A double for a time since 1970 in us has a resolution of a quarter of a us.
 * So two ways of dividing differ, and each producer uses its own.
 */
#ifndef ROLLCALL_EXTRACT_ROWS_TIMES_H
#define ROLLCALL_EXTRACT_ROWS_TIMES_H

#include <stdint.h>

/* For durations, and for times that a database has as integer ns: the profiler
 * divides by 1000.0, which rounds twice.
 */
static inline double time_us (int64_t ns)
{
    return (double)ns / 1000.0;
}

/* For times since 1970 that a file has as a decimal text of us: the double
 * nearest to that text, as in the tables of the profiler for such captures.
 */
static inline double time_us_of_text (int64_t ns)
{
    return (double)(ns / 1000) + (double)(ns % 1000) / 1000.0;
}

#endif
