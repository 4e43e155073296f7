/* tests/unit/aggregator/store/root_check.c - an aggregator's ledger and store,
 * in a directory of their own */
#include "aggregator/store/root_check.h"

void root_make (struct root *r)
{
    const char *tmp = getenv ("TMPDIR");

    (void)snprintf (r->dir, sizeof (r->dir), "%s/rollcall-root-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (r->dir));
    (void)snprintf (r->db, sizeof (r->db), "%s/ledger.db", r->dir);
    root_open (r);
}

void root_remove (struct root *r)
{
    root_close (r);
    (void)fileio_remove_tree (r->dir, NULL);
}

void root_close (struct root *r)
{
    store_close (r->s);
    ledger_close (r->l);
}

void root_open (struct root *r)
{
    assert_int_equal (ledger_open (r->db, &r->l, NULL), 0);
    assert_int_equal (store_open (r->dir, r->l, &r->s, NULL), 0);
}

struct digest root_digest (const char *bytes)
{
    struct content_hash h;
    struct digest id;

    content_hash_init (&h);
    assert_int_equal (content_hash_add (&h, bytes, strlen (bytes)), 0);
    assert_int_equal (content_hash_end (&h, &id), 0);
    content_hash_fini (&h);
    return id;
}

int root_setup (void **state)
{
    struct root *r = calloc (1, sizeof (*r));

    root_make (r);
    *state = r;
    return 0;
}

int root_teardown (void **state)
{
    root_remove (*state);
    free (*state);
    return 0;
}
