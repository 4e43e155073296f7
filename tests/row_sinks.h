/* tests/row_sinks.h - what sinks of tests, fuzz targets and benchmarks share */
#ifndef ROLLCALL_TESTS_ROW_SINKS_H
#define ROLLCALL_TESTS_ROW_SINKS_H

#include "model/batch.h"

/* Of a row_sink: add the number of rows to the uint64_t that 'arg' is. */
int sink_count (void *arg, const struct batch *b, struct err *err);

/* Of a row_sink that keeps what came of a damaged source. */
int sink_forget_nothing (void *arg, enum table_id table, struct err *err);

#endif
