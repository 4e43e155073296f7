/* tests/fuzz/fuzz_team_words.c - captures that a process of a build hands over:
 * what was read is read again from what it is written as
 */
#include "builder/team_words.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_MAX (4u << 20)

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* One thread, on both sides. */
struct talk {
    struct rank_lists said, all;
    struct team_heard heard;
    struct buf b;
};

static void talk_begin (struct talk *t)
{
    memset (t, 0, sizeof (*t));
    t->heard.all = &t->all;
    buf_init (&t->b, BYTES_MAX);
}

static void talk_end (struct talk *t)
{
    rank_lists_fini (&t->said);
    rank_lists_fini (&t->all);
    team_heard_fini (&t->heard);
    buf_fini (&t->b);
}

/* Say what was heard. */
static void repeat (struct talk *t, size_t index, const struct team_capture *c)
{
    team_put_capture (&t->b, &t->said, index, &c->capture, &c->span, c->groups,
                      c->ngroups);
}

/* Read captures; what they are goes to 't->b'.  False: they are refused. */
static bool hear (struct talk *t, const uint8_t *data, size_t size)
{
    struct wire w = wire_reader (data, size);
    int rc = 0;

    while (rc == 0 && w.at < w.end) {
        struct team_capture c;
        struct err err = { "" };
        size_t index;

        rc = team_get_capture (&w, &t->heard, &index, &c, &err);
        if (rc == 0) {
            repeat (t, index, &c);
            capture_fini (&c.capture);
        } else if (!err.text[0]) {
            abort ();
        }
        team_free_groups (&c);
    }
    return rc == 0;
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct talk one, two;

    talk_begin (&one);
    talk_begin (&two);
    if (hear (&one, data, size) && !one.b.failed &&
        (!hear (&two, one.b.data, one.b.size) || two.b.size != one.b.size ||
         (one.b.size > 0 && memcmp (two.b.data, one.b.data, one.b.size) != 0)))
        abort ();
    talk_end (&one);
    talk_end (&two);
    return 0;
}
