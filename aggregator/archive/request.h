/* aggregator/archive/request.h - what a person changes in a root afterwards
 *
 * The aggregator does it when it is asked over control.sock, a verb does it by
 * itself when nobody serves the root; see control.h.
 *
 *     {"do": "expect", "job": ID, "world_size": N}    N ranks; 0: as others say
 *     {"do": "merge", "job": ID, "from": ID}          all of it to 'job'
 *     {"do": "split", "job": ID, "captures": [NAME or rankN, ...]}
 *
 * Of the last two 'answer' has "job", where the captures are now, "captures",
 * how many versions of them, and "jobs": all whose captures are others.
 */
#ifndef ROLLCALL_ARCHIVE_REQUEST_H
#define ROLLCALL_ARCHIVE_REQUEST_H

#include "json/json.h"
#include "store/store.h"

/* Do it, durable when it returns: in a transaction of its own, with nothing
 * appended to the store that is not committed.  0, and 'answer' has what came
 * of it; -EINVAL, -ENOENT (no such job), or as ledger and store.
 */
int request_execute (struct ledger *ledger, struct store *store,
                     const struct json *request, struct json *answer,
                     struct err *err);

#endif
