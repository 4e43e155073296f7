/* aggregator/builder/build_member.h - a process that reads captures for rank 0's
 * build
 *
 * It has no options and no plan: rank 0 tells it all (builder/build.h, struct
 * build_remote).
 */
#ifndef ROLLCALL_BUILDER_BUILD_MEMBER_H
#define ROLLCALL_BUILDER_BUILD_MEMBER_H

#include "base/wire.h"
#include "builder/team.h"
#include "model/batch.h"
#include "model/capture.h"
#include "store/byte_source.h"

/* How captures are read here; any thread may call 'feed'.  Functions return 0 or
 * a negative error with a sentence.
 */
struct build_member {
    /* At the start of a pass: read what rank 0's 'settings' wrote; NULL may be a
     * state.  *sees: the captures are visible here.
     */
    int (*open) (struct wire *settings, void **state, bool *sees,
                 struct err *err);
    bool may_ask;               // if it does not see them, it gets the bytes of
                                // 'remote'; else it takes no part
    /* As a build_feed_fn, of what rank 0's 'order' wrote.  'remote' has the bytes
     * of the source; who reads it sets its size.
     */
    int (*feed) (void *state, struct wire *order,
                 const struct byte_source *remote, const struct row_sink *sink,
                 struct capture *c, struct err *err);
    void (*close) (void *state);
};

/* Work until rank 0 says that it is over. */
int build_member_run (struct team *team, const struct build_member *how,
                      const atomic_bool *cancel, struct err *err);

#endif
