/* common/store/row_sum.c - checksums of rows in our ledgers */
#include "store/row_sum.h"

#include "base/wire.h"

#define ROW_MAX (65u << 20)     // bytes of one row: a manifest is the most

static void put (struct buf *b, const struct db_value *v)
{
    wire_put_u8 (b, (uint8_t)v->type);
    if (v->type == SQLITE_INTEGER) {
        wire_put_i64 (b, v->number);
    } else if (v->type == SQLITE_FLOAT) {
        buf_put (b, &v->real, sizeof (v->real));
    } else if (v->type != SQLITE_NULL) {
        wire_put_u32 (b, (uint32_t)v->bytes.size);
        if (v->bytes.size > 0)
            buf_put (b, v->bytes.data, v->bytes.size);
    }
}

/* Return the first 64 bits of the hash, and free the buffer. */
static bool end (struct buf *b, int64_t *ret)
{
    struct digest d = { { 0 } };
    uint64_t sum = 0;
    bool good = !b->failed && digest_of (b->data, b->size, &d) == 0;

    buf_fini (b);
    for (int i = 0; i < 8; i++)
        sum = sum << 8 | d.bytes[i];
    *ret = (int64_t)sum;
    return good;
}

int64_t row_sum_of (const struct db_value *values)
{
    struct buf b;
    int64_t sum;

    buf_init (&b, ROW_MAX);
    for (; values->type != 0; values++)
        put (&b, values);
    (void)end (&b, &sum);
    return sum;
}

static struct db_value value_of (sqlite3_value *v)
{
    int type = sqlite3_value_type (v);

    if (type == SQLITE_INTEGER)
        return db_value_number (sqlite3_value_int64 (v));
    if (type == SQLITE_FLOAT)
        return db_value_real (sqlite3_value_double (v));
    return (struct db_value){
        .type = type, .bytes.data = sqlite3_value_blob (v),
        .bytes.size = (size_t)sqlite3_value_bytes (v)
    };
}

static void sum_in_sql (sqlite3_context *c, int n, sqlite3_value **v)
{
    struct buf b;
    int64_t sum;

    buf_init (&b, ROW_MAX);
    for (int i = 0; i < n; i++) {
        struct db_value one = value_of (v[i]);

        put (&b, &one);
    }
    if (end (&b, &sum))
        sqlite3_result_int64 (c, sum);
    else
        sqlite3_result_null (c);
}

int row_sum_register (sqlite3 *db)
{
    return sqlite3_create_function (db, "row_sum", -1,
                                    SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                    sum_in_sql, NULL, NULL);
}
