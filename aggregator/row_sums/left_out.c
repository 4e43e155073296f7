/* aggregator/row_sums/left_out.c - rows that do not count */
#include "row_sums/left_out.h"

#include "store/db_rows.h"

#include <errno.h>
#include <string.h>

struct left_step {
    int64_t of;                 // capture or rank
    uint64_t step;              // both are the key
};

static int add (struct left_out *l, struct map *m, int64_t of,
                const char *step)
{
    uint32_t number = texts_intern (&l->steps, step, strlen (step));
    bool is_new;

    return number != TEXTS_NONE &&
                   map_put (m, &(struct left_step){ of, number }, &is_new)
               ? 0 : -ENOMEM;
}

static int add_row (struct left_out *l, int64_t capture, int64_t rank,
                    const char *step)
{
    bool is_new;
    int rc = 0;

    if (!step)
        return map_put (&l->captures, &capture, &is_new) ? 0 : -ENOMEM;
    rc = add (l, &l->of_capture, capture, step);
    return rc < 0 || rank < 0 ? rc : add (l, &l->of_rank, rank, step);
}

int left_out_read (sqlite3 *db, struct left_out *ret, struct err *err)
{
    struct db_rows r = db_rows (db, err, "SELECT ifnull(capture, -1), "
                                         "ifnull(rank, -1), 'step'||step FROM "
                                         "main.LeftOut");
    int64_t capture, rank;
    const char *step;

    *ret = (struct left_out){ .captures = MAP (int64_t, 1),
                              .of_capture = MAP (struct left_step, 2),
                              .of_rank = MAP (struct left_step, 2) };
    while (db_row (&r, capture, rank, step)) {
        if (add_row (ret, capture, rank, step) < 0)
            r.rc = err_set (err, ENOMEM, "no memory for what does not count");
    }
    return db_end (&r);
}

void left_out_fini (struct left_out *l)
{
    texts_fini (&l->steps);
    map_fini (&l->captures);
    map_fini (&l->of_capture);
    map_fini (&l->of_rank);
}

bool left_out_capture (const struct left_out *l, int64_t capture)
{
    return l->captures.n > 0 && map_get (&l->captures, &capture);
}

static bool has_step (const struct left_out *l, const struct map *m,
                      int64_t of, const char *step, size_t n)
{
    uint32_t number = m->n > 0 && step ? texts_find (&l->steps, step, n)
                                       : TEXTS_NONE;

    return number != TEXTS_NONE &&
           map_get (m, &(struct left_step){ of, number });
}

bool left_out_op (const struct left_out *l, int64_t capture, const char *step,
                  size_t n)
{
    return left_out_capture (l, capture) ||
           has_step (l, &l->of_capture, capture, step, n);
}

bool left_out_rank (const struct left_out *l, int64_t rank, const char *step,
                    size_t n)
{
    return has_step (l, &l->of_rank, rank, step, n);
}
