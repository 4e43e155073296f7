/* tests/fuzz/fuzz_db.c - databases that inputs are made into */
#include "fuzz_db.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 64u
#define LINE_MAX_BYTES 2048u
#define STEPS_MAX 400000        // of SQLite's machine, for all of an input

static int stop (void *arg)
{
    int *left = arg;

    return (*left -= 1000) < 0;
}

/* Nothing but this database may be changed. */
static int allow (void *arg, int what, const char *a, const char *b,
                  const char *c, const char *d)
{
    static const char *const pragmas[] = {
        "writable_schema", "user_version", "encoding", "auto_vacuum",
        "page_size", "application_id", "schema_version", "journal_mode",
    };

    (void)arg;
    (void)b;
    (void)c;
    (void)d;
    if (what == SQLITE_ATTACH)
        return a && *a ? SQLITE_DENY : SQLITE_OK;       // "": of VACUUM
    if (what != SQLITE_PRAGMA)
        return SQLITE_OK;
    for (size_t i = 0; i < sizeof (pragmas) / sizeof (pragmas[0]); i++) {
        if (sqlite3_stricmp (a, pragmas[i]) == 0)
            return SQLITE_OK;
    }
    return SQLITE_DENY;
}

static void run_lines (sqlite3 *db, const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;
    int left = STEPS_MAX;

    (void)sqlite3_limit (db, SQLITE_LIMIT_LENGTH, 200000);
    (void)sqlite3_set_authorizer (db, allow, NULL);
    sqlite3_progress_handler (db, 1000, stop, &left);
    for (unsigned n = 0; n < LINES_MAX && at < end; n++) {
        const char *stop_at = memchr (at, '\n', (size_t)(end - at));
        char line[LINE_MAX_BYTES];
        size_t used = (size_t)((stop_at ? stop_at : end) - at);

        if (used < sizeof (line)) {
            memcpy (line, at, used);
            line[used] = '\0';
            (void)sqlite3_exec (db, line, NULL, NULL, NULL);
        }
        at = stop_at ? stop_at + 1 : end;
    }
}

static void write_sql (const char *path, const uint8_t *data, size_t size,
                       bool wal)
{
    sqlite3 *db;

    if (sqlite3_open (path, &db) != SQLITE_OK)
        abort ();
    if (wal)
        (void)sqlite3_exec (db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
    (void)sqlite3_db_config (db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, wal, NULL);
    run_lines (db, data, size);
    (void)sqlite3_close (db);
}

static void patch (uint8_t *copy, size_t base_size, const uint8_t *data,
                   size_t size)
{
    while (size >= 4) {
        size_t at = 2 * ((size_t)data[0] << 8 | data[1]), n = data[2];

        data += 3;
        size -= 3;
        n = n < size ? n : size;
        for (size_t i = 0; i < n && at + i < base_size; i++)
            copy[at + i] = data[i];
        data += n;
        size -= n;
    }
}

void fuzz_db_write (const char *name, struct fuzz_base base,
                    const uint8_t *data, size_t size)
{
    unsigned how = size ? data[0] % 4 : 0;
    char path[PATH_MAX];
    uint8_t *copy;

    if (size) {
        data++;
        size--;
    }
    if (how == 0) {
        fuzz_write (name, data, size);
        return;
    }
    if (!(copy = malloc (base.size)))
        abort ();
    memcpy (copy, base.data, base.size);
    if (how == 1)
        patch (copy, base.size, data, size);
    fuzz_write (name, copy, base.size);
    free (copy);
    if (how >= 2)
        write_sql (fuzz_path (path, name), data, size, how == 3);
}

struct fuzz_base fuzz_base_of_sql (const char *sql)
{
    struct fuzz_base base;
    char path[PATH_MAX];
    sqlite3 *db;

    fuzz_remove ("base.db");
    if (sqlite3_open (fuzz_path (path, "base.db"), &db) != SQLITE_OK ||
        sqlite3_exec (db, sql, NULL, NULL, NULL) != SQLITE_OK)
        abort ();
    (void)sqlite3_close (db);
    base.data = fuzz_read ("base.db", &base.size);
    fuzz_remove ("base.db");
    return base;
}
