/* cli/interchange/get_missing.h - whose raw files a root does not have */
#ifndef ROLLCALL_INTERCHANGE_GET_MISSING_H
#define ROLLCALL_INTERCHANGE_GET_MISSING_H

#include "base/map.h"
#include "ledger/ledger.h"
#include "store/tree.h"

#include <stdio.h>

struct get_missing {
    struct map ranks;           // of the items
    int64_t *list;              // ranks some of whose files are not there
    size_t n;
    bool nameless;              // so are files of captures without a rank
};

void get_missing_init (struct get_missing *m);
void get_missing_fini (struct get_missing *m);

/* An item was written, or it is damaged.  0 or -ENOMEM. */
int get_missing_note (struct get_missing *m, const struct tree *out,
                      const char *path, const struct ledger_item *i,
                      bool damaged);

/* After the last item: whether files are missing, or -ENOMEM.  Then print a
 * sentence about them, if there are any. 'none' is whether nobody's raw files
 * came; 'elsewhere' the aggregators that have those of this job, or "".
 */
int get_missing_end (struct get_missing *m);
void get_missing_tell (const struct get_missing *m, const char *job, bool none,
                       const char *elsewhere, FILE *f);

#endif
