/* tests/unit/aggregator/uploads/uploads_check.h - uploads of a root to a store
 * that says what it is told
 */
#ifndef UPLOADS_CHECK_H
#define UPLOADS_CHECK_H

#include "aggregator/ledger/ledger_check.h"
#include "common/object_store/http_script.h"
#include "store/object_owner.h"
#include "store/root.h"
#include "store/store_private.h"
#include "uploads/uploads.h"

#define NOT_THERE "HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n"
#define NO_KEY "HTTP/1.1 404 x\r\nConnection: close\r\n\r\n" \
    "<Error><Code>NoSuchKey</Code></Error>"
#define FINE "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define DENIED "HTTP/1.1 403 x\r\nConnection: close\r\n\r\n" \
    "<Error><Code>AccessDenied</Code></Error>"

struct fixture {
    struct http_script *script;
    struct uploads *u;
    struct uploads_state now;
    char there[256];            // the answer to HEAD, when it is there
    char owner[2 * OWNER_BYTES];        // that this root is the owner
    const char *why;            // of begin; NULL: nothing is wrong
};

/* A sealed segment with some content: its size. */
uint64_t seal_one (struct root *r, const char *bytes);
/* The answer of a store that has segment 1. */
void as_there (struct fixture *f, const struct root *r, uint64_t size);

/* Start the store, with its answers, and the uploads, which keep all here, */
void fixture_begin (struct fixture *f, struct root *r,
                    const char *const *answers, size_t n);
/* or at most 'size' bytes of what is there, too. */
void fixture_begin_cache (struct fixture *f, struct root *r, uint64_t size,
                          const char *const *answers, size_t n);
void fixture_end (struct fixture *f);

/* Until something is so; it may take a pause of the thread. */
void fixture_until (struct fixture *f, bool (*is_so) (const struct fixture *));
bool is_stored (const struct fixture *f);
bool has_failed (const struct fixture *f);
bool has_first (const struct fixture *f);
bool is_conflict (const struct fixture *f);

#endif
