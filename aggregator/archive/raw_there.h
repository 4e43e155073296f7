/* aggregator/archive/raw_there.h - what a root already has of what is fetched */
#ifndef ROLLCALL_ARCHIVE_RAW_THERE_H
#define ROLLCALL_ARCHIVE_RAW_THERE_H

#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

struct archive;

/* Whether no agent need be asked for a rank of a job: all raw files of its
 * captures are in the root, of the version that counts; or it has no capture
 * there.  Then each capture, or the rank, is added to 'list' as the aggregator
 * tells it ("came" or "gone"), and the members of 'n' count on.
 */
struct raw_there_counts {
    int64_t captures, gone;
};
bool raw_there (struct archive *a, const char *job, int64_t rank,
                      struct json *list, struct raw_there_counts *n);

#endif
