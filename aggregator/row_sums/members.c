/* aggregator/row_sums/members.c - find the group that a rank means by a name */
#include "row_sums/members.h"

#include "base/texts.h"
#include "store/db_rows.h"

#include <errno.h>
#include <stdlib.h>

struct member {
    uint32_t name, rank;        // both together are the key
    uint32_t group, size;
};

struct members {
    struct texts names;
    struct map list;
    uint32_t world, world_size;
};

void members_destroy (struct members *m)
{
    if (!m)
        return;
    texts_fini (&m->names);
    map_fini (&m->list);
    free (m);
}

/* If a rank is in two groups of the same name, the first counts. */
static int members_add (struct members *m, sqlite3_stmt *st)
{
    const char *text = (const char *)sqlite3_column_text (st, 2);
    uint32_t rank = (uint32_t)sqlite3_column_int64 (st, 3), name;
    struct member *at;
    bool is_new;

    name = text ? texts_intern (&m->names, text,
                                (size_t)sqlite3_column_bytes (st, 2))
                : TEXTS_NONE;
    if (name == TEXTS_NONE ||
        !(at = map_put (&m->list, &(struct member){ name, rank, 0, 0 },
                        &is_new)))
        return -ENOMEM;
    if (is_new) {
        at->group = (uint32_t)sqlite3_column_int64 (st, 0);
        at->size = (uint32_t)sqlite3_column_int64 (st, 1);
    }
    return 0;
}

static void read_world (sqlite3 *db, struct members *m)
{
    m->world_size = (uint32_t)db_int (db, "SELECT count(*) FROM Roster WHERE "
                                          "expected", 0);
    m->world = (uint32_t)db_int (db, "SELECT min(id) FROM CommGroup WHERE "
                                     "size=(SELECT count(*) FROM Roster WHERE "
                                     "expected)", 0);
}

uint32_t members_world (const struct members *m, uint32_t *size)
{
    *size = m->world_size;
    return m->world;
}

int members_read (sqlite3 *db, bool all, struct members **ret,
                  struct err *err)
{
    struct members *m = calloc (1, sizeof (*m));
    struct db_rows r;
    int rc;

    if (!m)
        return err_set (err, ENOMEM, "no memory for groups");
    m->list = (struct map)MAP (struct member, 1);
    // both are read by id, the order in which they were written
    r = db_rows (db, err, "SELECT g.id, g.size, g.group_name, m.rank FROM "
                 "CommGroupMember m CROSS JOIN CommGroup g ON g.id="
                 "m.comm_group WHERE m.rank>=0 AND (?1 OR g.size>0)", all);
    while (db_step (&r)) {
        if (members_add (m, r.st) < 0)
            r.rc = err_set (err, ENOMEM, "no memory for groups");
    }
    rc = db_end (&r);
    read_world (db, m);
    if (rc < 0)
        members_destroy (m);
    else
        *ret = m;
    return rc;
}

uint32_t members_group (const struct members *m, const char *name, size_t n,
                        int64_t rank, uint32_t *size)
{
    uint32_t number = texts_find (&m->names, name, n);
    const struct member *at;

    if (number == TEXTS_NONE || rank < 0 || rank >= UINT32_MAX)
        return 0;
    at = map_get (&m->list, &(struct member){ number, (uint32_t)rank, 0, 0 });
    if (at)
        *size = at->size;
    return at ? at->group : 0;
}
