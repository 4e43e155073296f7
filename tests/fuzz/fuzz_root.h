/* tests/fuzz/fuzz_root.h - an aggregator's root that is well formed */
#ifndef ROLLCALL_FUZZ_ROOT_H
#define ROLLCALL_FUZZ_ROOT_H

#include "fuzz_db.h"

#define FUZZ_ROOT "root"
#define FUZZ_SEGMENT FUZZ_ROOT "/segments/00000001"

struct fuzz_root {
    struct fuzz_base ledger;    // that knows all of the segment
    struct fuzz_base empty;     // that knows of a segment, of nothing in it
    struct fuzz_base segment;
};

/* Four items of job "j", the fourth a raw file. */
const struct fuzz_root *fuzz_root (void);

/* Its directory FUZZ_ROOT again, without segment and ledger. */
void fuzz_root_restore (void);

#endif
