/* aggregator/publish/former_parts.c - parts that no result needs any more */
#include "publish/result_parts.h"

#include "base/units.h"
#include "base/vec.h"
#include "store/db_rows.h"
#include "store/fileio.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void parts_names_fini (struct parts_names *names)
{
    vec_free_texts (names->list, names->n);
    *names = (struct parts_names){ NULL, 0 };
}

static bool is_among (const struct parts_names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++) {
        if (strcmp (names->list[i], name) == 0)
            return true;
    }
    return false;
}

static int note_names (sqlite3 *db, struct parts_names *names)
{
    struct db_rows r = db_rows (db, NULL, "SELECT file FROM Part");
    const char *file;

    while (db_row (&r, file))
        r.rc = file ? vec_add_text (&names->list, &names->n, file) : 0;
    return db_end (&r);
}

/* Add the parts of a file, if it is a result.  Negative: they are not known, and
 * 'err' has words that follow the file's name.
 */
static int note_result (const struct publish *p, const char *name,
                        struct parts_names *used, struct err *err)
{
    char path[PATH_MAX];
    sqlite3 *db = NULL;
    int rc = publish_path (p, name, path, err);
    int ours = rc == 0 ? publish_look_at_db (path) : 0;

    if (ours < 0)
        return err_sys (err, -ours, "cannot be read");
    if (ours == 0)
        return rc;
    rc = db_open (path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, &db) ==
                 SQLITE_OK ? 0 : -EIO;
    if (rc == 0)
        db_harden (db);
    if (rc == 0 && db_int (db, "SELECT count(*) FROM sqlite_schema", -1) < 0)
        rc = -EIO;
    if (rc == 0 && parts_are_beside (db))
        rc = note_names (db, used);
    (void)sqlite3_close (db);
    return rc < 0 ? err_set (err, -rc, "is a result that cannot be read") : 0;
}

void parts_note (const struct publish *p, struct parts_names *ret)
{
    *ret = (struct parts_names){ NULL, 0 };
    (void)note_result (p, PUBLISH_DB_NAME, ret, NULL);
}

/* The names of all parts in the directory, and of all other files: a result may
 * have been given another name.  Directories are those of builds, which only their
 * user may read.
 */
static int list_names (const struct publish *p, struct parts_names *parts,
                       struct parts_names *others)
{
    DIR *dir = fileio_list (p->dir.fd, ".");
    int rc = dir ? 0 : -EIO;
    struct dirent *e;

    while (rc == 0 && (e = readdir (dir))) {
        struct parts_names *l = parts_is_name (e->d_name) ? parts : others;

        if (e->d_type != DT_DIR && strcmp (e->d_name, PUBLISH_LOCK_NAME) != 0)
            rc = vec_add_text (&l->list, &l->n, e->d_name);
    }
    fileio_close_dir (dir);
    return rc;
}

/* The first file whose parts are not known, or NULL. */
static const char *note_used (const struct publish *p,
                              const struct parts_names *files,
                              struct parts_names *used, struct err *why)
{
    const char *unknown = NULL;

    for (size_t i = 0; i < files->n; i++) {
        if (note_result (p, files->list[i], used, unknown ? NULL : why) < 0 &&
            !unknown)
            unknown = files->list[i];
    }
    return unknown;
}

int parts_clean (const struct publish *p, const struct parts_names *replaced,
                 struct err *err)
{
    struct parts_names used = { NULL, 0 }, all = { NULL, 0 };
    struct parts_names others = { NULL, 0 };
    struct err why = { "" };
    const char *unknown = NULL;
    size_t stay = 0;
    int rc = list_names (p, &all, &others);

    if (rc == 0 && all.n > 0)
        unknown = note_used (p, &others, &used, &why);
    for (size_t i = 0; i < all.n && rc == 0; i++) {
        if (is_among (&used, all.list[i]))
            continue;
        if (is_among (replaced, all.list[i]) || (p->lock.held && !unknown))
            (void)unlinkat (p->dir.fd, all.list[i], 0);
        else
            stay++;
    }
    rc = unknown && stay > 0 ? -EIO : 0;
    if (rc < 0)
        (void)err_set (err, EIO, "%zu part%s of former results stay%s in %s, "
                       "since %s there %s, and may need %s: make it readable, "
                       "or remove both", stay, units_s (stay),
                       stay == 1 ? "s" : "", p->dir.path, unknown, why.text,
                       stay == 1 ? "it" : "them");
    parts_names_fini (&used);
    parts_names_fini (&all);
    parts_names_fini (&others);
    return rc;
}
