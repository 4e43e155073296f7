/* aggregator/sums/members.c - which group a rank means by a name */
#include "sums/members.h"

#include "sums/texts.h"
#include "store/db.h"

#include <errno.h>
#include <stdlib.h>

struct member {
    uint32_t name, rank;        // together the key
    uint32_t group, size;       // group 0: a free place
};

struct members {
    struct texts names;
    struct member *slots;
    size_t n, nslots;           // nslots: a power of two
    uint32_t world, world_size;
};

void members_destroy (struct members *m)
{
    if (!m)
        return;
    texts_fini (&m->names);
    free (m->slots);
    free (m);
}

static struct member *slot_of (struct member *slots, size_t nslots,
                               uint32_t name, uint32_t rank)
{
    uint64_t h = ((uint64_t)name << 32 | rank) * UINT64_C (0x9e3779b97f4a7c15);
    size_t i = (size_t)(h ^ h >> 32) & (nslots - 1);

    while (slots[i].group != 0 &&
           (slots[i].name != name || slots[i].rank != rank))
        i = (i + 1) & (nslots - 1);
    return &slots[i];
}

static int members_grow (struct members *m)
{
    size_t nslots = m->nslots ? 2 * m->nslots : 1024;
    struct member *slots = calloc (nslots, sizeof (*slots));

    if (!slots)
        return -ENOMEM;
    for (size_t i = 0; i < m->nslots; i++) {
        if (m->slots[i].group != 0)
            *slot_of (slots, nslots, m->slots[i].name, m->slots[i].rank) =
                m->slots[i];
    }
    free (m->slots);
    m->slots = slots;
    m->nslots = nslots;
    return 0;
}

/* The first group counts, where a rank is in two of one name. */
static int members_add (struct members *m, sqlite3_stmt *st)
{
    const char *text = (const char *)sqlite3_column_text (st, 2);
    uint32_t rank = (uint32_t)sqlite3_column_int64 (st, 3), name;
    struct member *at;

    if (2 * (m->n + 1) > m->nslots && members_grow (m) < 0)
        return -ENOMEM;
    name = text ? texts_intern (&m->names, text,
                                (size_t)sqlite3_column_bytes (st, 2))
                : TEXTS_NONE;
    if (name == TEXTS_NONE)
        return -ENOMEM;
    at = slot_of (m->slots, m->nslots, name, rank);
    if (at->group == 0) {
        *at = (struct member){ name, rank,
                               (uint32_t)sqlite3_column_int64 (st, 0),
                               (uint32_t)sqlite3_column_int64 (st, 1) };
        m->n++;
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
    sqlite3_stmt *st = NULL;
    int rc;

    if (!m || members_grow (m) < 0) {
        members_destroy (m);
        return err_set (err, ENOMEM, "no memory for groups");
    }
    // both in the order in which they were written: by id
    rc = db_prepare (db, "SELECT g.id, g.size, g.group_name, m.rank "
                         "FROM CommGroupMember m CROSS JOIN CommGroup g "
                         "ON g.id=m.comm_group WHERE m.rank>=0 AND "
                         "(?1 OR g.size>0)", &st, err);
    if (rc == 0)
        (void)sqlite3_bind_int (st, 1, all);
    while (rc == 0 && (rc = db_next (st, "cannot read groups", err)) > 0) {
        if ((rc = members_add (m, st)) < 0)
            (void)err_set (err, ENOMEM, "no memory for groups");
    }
    (void)sqlite3_finalize (st);
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
    at = slot_of (m->slots, m->nslots, number, (uint32_t)rank);
    *size = at->size;
    return at->group;
}
