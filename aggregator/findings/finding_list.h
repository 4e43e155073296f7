/* aggregator/findings/finding_list.h - the findings of a finished analysis.db
 */
#ifndef ROLLCALL_FINDINGS_FINDING_LIST_H
#define ROLLCALL_FINDINGS_FINDING_LIST_H

#include "base/err.h"
#include "findings/findings.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

#define FINDING_NONE INT64_MIN          // a number that is NULL

struct finding {
    int64_t id, rank, peer, comm_group; // or FINDING_NONE
    double effect_ms, effect_percent, value, baseline;  // or NaN
    char *kind, *severity, *step, *unit, *text, *hint, *query, *rule;
                                        // or NULL
};

struct finding_list {
    struct finding *items;      // most severe first, then by size
    size_t n;
};

/* Read the stored findings of 'path'; with 'opt', compute them again without
 * changing the result.  -ENOMEM; otherwise as finished_open_analysis.
 */
int finding_list_read (const char *path, const struct findings_options *opt,
                       struct finding_list *ret, struct err *err);
void finding_list_fini (struct finding_list *l);

/* Whether any of them is more than a note. */
bool finding_list_any (const struct finding_list *l);

/* 0, or -errno if writing to the descriptor fails. */
int finding_list_print (const struct finding_list *l, int fd);
struct json *finding_list_to_json (const struct finding_list *l,
                                   const char *path);

#endif
