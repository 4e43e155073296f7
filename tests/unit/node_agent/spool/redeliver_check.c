/* tests/unit/node_agent/spool/redeliver_check.c - deliver items, and deliver
 * them again
 */
#include "node_agent/spool/redeliver_check.h"

#include <sys/stat.h>

const struct ledger_mark mark = { UINT64_C (1) << 63, 7 };

void acknowledge_with (struct fixture *f, const struct ledger_mark *m,
                       enum item_kind kind, unsigned n)
{
    struct spool_item got;

    while (n-- > 0) {
        assert_int_equal (spool_next (f->s, kind, 0, &got, NULL), 1);
        spool_set_mark (f->s, 0, m);
        assert_int_equal (spool_durable (f->s, &got.id, 1, NULL), 0);
    }
}

void acknowledge (struct fixture *f, enum item_kind kind, unsigned n)
{
    acknowledge_with (f, &mark, kind, n);
}

bool mark_is (const struct fixture *f, uint64_t epoch, uint64_t seq)
{
    struct ledger_mark m = spool_mark (f->s, 0);

    return m.epoch == epoch && m.seq == seq;
}

void redeliver (struct fixture *f, struct spool_redelivery *r)
{
    int rc;

    memset (r, 0, sizeof (*r));
    assert_true (spool_redelivers (f->s));
    while ((rc = spool_redeliver (f->s, r, NULL)) == 1)
        ;
    assert_int_equal (rc, 0);
    assert_false (spool_redelivers (f->s));
}

void path_below (struct fixture *f, const char *name, char out[PATH_MAX])
{
    (void)snprintf (out, PATH_MAX, "%s/%s", f->dir, name);
    assert_true (mkdir (out, 0700) == 0 || errno == EEXIST);
}

unsigned losses (struct fixture *f)
{
    int n = spool_each_lost (f->s, NULL, NULL, NULL);

    assert_true (n >= 0);
    return (unsigned)n;
}

void lose (struct fixture *f, enum item_kind kind, unsigned n)
{
    struct spool_item got;

    while (n-- > 0) {
        assert_int_equal (spool_next (f->s, kind, 0, &got, NULL), 1);
        assert_int_equal (got.state, SPOOL_ASKED);
        assert_false (got.own);
        assert_int_equal (spool_lost (f->s, &got.id, 1, NULL), 0);
    }
}
