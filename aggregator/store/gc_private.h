/* aggregator/store/gc_private.h - shared by the parts of the collection */
#ifndef ROLLCALL_STORE_GC_PRIVATE_H
#define ROLLCALL_STORE_GC_PRIVATE_H

#include "ledger/ledger_gc.h"
#include "store/gc.h"
#include "store/record.h"
#include "store/store_private.h"

enum gc_phase {
    GC_ITEMS, GC_LISTS, GC_DOOM, GC_CHOOSE, GC_NOTE, GC_DROP, GC_EMPTY, GC_OVER
};

struct gc_segment {
    int64_t number;
    uint64_t doomed, live;
};

struct gc {
    struct ledger *ledger;
    struct store *store;
    struct gc_options opt;
    struct gc_report report;
    enum gc_phase phase;
    int64_t seq;                // the last item that was marked
    struct digest id;           // the last content of a phase that goes on
    int64_t segment;            // ... and its segment
    struct gc_segment *segments;        // to be emptied
    size_t n, at;
    uint64_t offset;            // of the next record in the current one
    struct store_chunk *moved;  // new places, to be committed
    size_t nmoved;
    uint64_t copied;            // bytes that were appended for them
    struct err *err;            // of the current step
};

/* gc_copy.c: append what is alive of the current segment, some of it: 1: there
 * is more; 0: all was; -EBADMSG: it is damaged, and stays.  Then what became
 * alive meanwhile.  Not committed.
 */
int gc_copy (struct gc *g, struct err *err);
int gc_copy_spared (struct gc *g, struct err *err);

#endif
