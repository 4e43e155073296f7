/* tests/unit/aggregator/transfer/test_transfer_commit.c - which items a commit
 * speaks of */
#include "aggregator/transfer/transfer_check.h"
#include "store/store_private.h"
#include "transfer/transfer_private.h"


/* Content that is here already, so that an offer is all that it takes. */
static void have_content (struct fixture *f, uint8_t content)
{
    struct ledger_item item = { .kind = ITEM_ROWS };

    memset (item.content.bytes, content, DIGEST_SIZE);
    assert_int_equal (store_put_chunk (f->root.s, &item.content, 1,
                                       CODEC_PLAIN, &content, 1, &item.place,
                                       NULL), 0);
    assert_int_equal (ledger_add_content (f->root.l, &item.content,
                                          &item.place, NULL), 0);
}

/* Of each job what is new to it, and nothing that came before: whoever is not
 * named here need not be built.
 */
static void test_entered (void **state)
{
    struct fixture *f = *state;

    have_content (f, 1);
    have_content (f, 2);
    offer (f, "a", "x", 1);
    check_commit (f, "a x, ");
    offer (f, "a", "x", 1);
    check_commit (f, "");
    offer (f, "a", "x", 1);
    offer (f, "b", "x", 1);
    offer (f, "b", "y", 2);
    offer (f, "b", "y", 2);     // two agents see one shared directory
    check_commit (f, "b x, b y, ");
    offer (f, "a", "x", 2);     // analysed again
    check_commit (f, "a x, ");
}

/* Offered between the last chunk and the commit: it is neither asked for again
 * nor written over what is there.
 */
static void test_whole_before_commit (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (20 * MIB, 9);
    size_t before;

    offer_data (f, 1, 1, &d);
    for (size_t i = 0; i < f->nsent; i++) {
        struct message get = f->sent[i];

        assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
        if (get.offset == 17 * MIB)     // it could be resumed from here
            check_commit (f, "");
    }
    before = f->nsent;
    offer_data (f, 2, 9, &d);
    transfers_tick (f->transfers, clock_mono_ns () + 10 * TRANSFER_ORPHAN_NS);
    offer_data (f, 3, 9, &d);
    assert_int_equal (f->nsent, before);
    check_commit (f, "j c1, j c2, j c3, ");
    assert_int_equal (f->nsent, before + 3);    // ACKs
    check_stored (f, &d);
    free (d.bytes);
}

/* Chunks on their way whose fsync failed: the kernel says so once, and takes
 * what it could not write for written.  All of them have to come again.
 */
static void test_lost_pages (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (20 * MIB, 31);
    struct err err = { "" };

    offer_data (f, 1, 1, &d);
    for (size_t i = 0; i < 19; i++) {
        struct message get = f->sent[i];

        assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
    }
    f->root.s->cannot_commit = true;
    assert_true (transfers_pending (f->transfers));
    assert_true (transfers_commit (f->transfers, NULL, NULL, &err) < 0);
    f->transfers->paused_until_ns = 0;
    offer_data (f, 1, 1, &d);
    assert_int_equal (answer_all (f, 19, 1, &d, CODEC_PLAIN), 20);
    check_whole (f, "j c1, ", &d);
    free (d.bytes);
}

static int check_behind (void *arg, const struct ledger_job *job)
{
    assert_true (job->built > 0);
    assert_true (job->newest > job->built);
    assert_true (job->newest != *(int64_t *)arg);       // a seq of its own
    *(int64_t *)arg = job->newest;
    return 0;
}

static void set_built (struct fixture *f, const char *job)
{
    struct ledger *l = f->root.l;

    assert_int_equal (ledger_set_built (l, job,
                                        ledger_newest (l, job, ITEM_RAW),
                                        NULL, NULL), 0);
}

/* What a check has set aside is asked for again, and every job that has it is
 * built again, whoever brings it: also by the next life, if this one dies
 * before it has built.
 */
static void test_again (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3000, 70);
    struct ledger_item other = { .job = "k", .kind = ITEM_RAW, .path = "p",
                                 .capture = "c", .content = d.id };
    struct ledger_mark before;
    int64_t newest = 0;

    offer_data (f, 1, 1, &d);
    assert_int_equal (answer_all (f, 0, 1, &d, CODEC_LZ4), 1);
    check_commit (f, "j c1, ");
    assert_int_equal (ledger_add_item (f->root.l, &other, NULL), 1);
    set_built (f, "j");
    set_built (f, "k");
    assert_int_equal (ledger_drop_content (f->root.l, &d.id, NULL), 0);
    close_all (f);
    open_all (f);
    before = ledger_mark (f->root.l);
    f->nsent = 0;
    offer_data (f, 1, 1, &d);
    assert_int_equal (answer_all (f, 0, 1, &d, CODEC_LZ4), 1);
    check_whole (f, "j c1, j , k , ", &d);
    assert_true (ledger_mark (f->root.l).seq > before.seq);
    close_all (f);
    open_all (f);
    assert_int_equal (ledger_each_job (f->root.l, ITEM_RAW, check_behind,
                                       &newest, NULL), 0);
    free (d.bytes);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        TRANSFER_TEST (test_entered), TRANSFER_TEST (test_whole_before_commit),
        TRANSFER_TEST (test_lost_pages), TRANSFER_TEST (test_again),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
