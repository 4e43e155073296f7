/* node_agent/spool/losses.c - what will not be delivered, in words
 *
 * The table 'note' has a row for each capture with a loss, named by the
 * capture's id.  It is written in the transaction that causes the loss, so that
 * every later agent knows of it, and removed when another version of that
 * capture is sealed.
 */
#include "spool/spool_private.h"

#include "identity/capture_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOST "lost "            // names of the rows: this and the id
#define THERE " there"          // after it: the aggregator has lost it

#define BOTH_ENDS "SELECT '' AS end UNION ALL SELECT '" THERE "'"

static const char raw_text[] = "%llu of the raw files and directories of "
    "%.300s %s not delivered; the first is %.300s";

/* If a later version was sealed, what happens to this one is no loss. */
bool capture_is_superseded (struct spool *s, uint64_t capture)
{
    return db_number (spool_rows (s, NULL,
        "SELECT 1 FROM capture c JOIN capture n ON n.key=c.key AND "
        "n.path=c.path AND n.id>c.id AND n.state BETWEEN 3 AND 7 WHERE "
        "c.id=?1 LIMIT 1", capture), 0) == 1;
}

bool capture_is_elsewhere (struct spool *s, uint64_t capture)
{
    return db_number (spool_rows (s, NULL, "SELECT 1 FROM " COPIES_OF ("?1")
                                  " AND NOT is_gone(b.path) LIMIT 1",
                                  capture), 0) == 1;
}

int loss_write (struct spool *s, uint64_t capture, const char *text,
                struct err *err)
{
    char name[32];

    if (capture_is_superseded (s, capture))
        return 0;
    PRINT (name, LOST "%llu", (unsigned long long)capture);
    return note_write (s, name, text, err);
}

int loss_left_out (struct spool *s, uint64_t capture, uint64_t n,
                   const char *first, struct err *err)
{
    struct db_rows r = spool_rows (s, err, "SELECT path FROM capture WHERE "
                                           "id=?1", capture);
    const char *path = NULL;
    char text[SPOOL_LOSS_MAX];

    (void)db_row (&r, path);
    PRINT (text, raw_text, (unsigned long long)n, path ? path : "a capture",
           n == 1 ? "is" : "are", first);
    (void)db_end (&r);
    return loss_write (s, capture, text, err);
}

/* Add a raw file of a capture: the first one stays named. */
int loss_add_raw (struct spool *s, uint64_t capture, uint64_t item,
                  const char *why, struct err *err)
{
    char name[32], text[SPOOL_LOSS_MAX], first[SPOOL_LOSS_MAX] = "", *rest;
    unsigned long long n;
    struct db_rows r;
    const char *path;

    PRINT (name, LOST "%llu", (unsigned long long)capture);
    if (spool_note (s, name, text, sizeof (text))) {
        n = strtoull (text, &rest, 10);
        if (rest == text)
            return 0;           // all of it is lost, which says more
        PRINT (first, "%llu%.800s", n + 1, rest);
        return note_write (s, name, first, err);
    }
    r = spool_rows (s, err, "SELECT path FROM item WHERE id=?1", item);
    if (db_row (&r, path))
        PRINT (first, "%.200s: %.90s", path, why);
    (void)db_end (&r);
    return loss_left_out (s, capture, 1, first, err);
}

/* Whether the capture was found elsewhere.  One that was to be read again was,
 * if this is a copy of it; one that had vanished was, if its name was given by
 * a profiler, with host, process and time.
 */
static int forget_moved (struct spool *s, uint64_t capture, const char *name,
                         struct err *err)
{
    int rc = spool_do (s, err,
        "DELETE FROM note WHERE name IN (SELECT '" LOST "' || b.id || x.end "
        "FROM (" BOTH_ENDS ") x, (SELECT b.id FROM " COPIES_OF ("?1")
        " AND b.state IN (10, 11) AND is_gone(b.path)) b)", capture);

    if (rc < 0 || capture_name_parse (name).made_ns == 0)
        return rc;
    return spool_do (s, err,
        "DELETE FROM note WHERE name IN (SELECT note.name FROM note JOIN "
        "capture c ON c.id=CAST(substr(note.name, 6) AS INTEGER) WHERE "
        NOTE_OF_LOSS " AND c.state=9 AND "
        "substr(c.path, -length(?1) - 1)='/' || ?1)", name);
}

int loss_forget (struct spool *s, uint64_t capture, const char *name,
                 struct err *err)
{
    int rc = spool_do (s, err,
        "DELETE FROM note WHERE name IN (SELECT '" LOST "' || o.id || x.end "
        "FROM (" BOTH_ENDS ") x, capture c JOIN capture o ON o.key=c.key AND "
        "o.path=c.path WHERE c.id=?1)", capture);

    return rc < 0 ? rc : forget_moved (s, capture, name, err);
}

/* ---- lost by the aggregator ---- */

enum there {                    // what it lost: bits
    THERE_ROWS = 1,
    THERE_RAW = 2,
};

static const char *const there_verbs[] = {
    "the aggregator has lost", "the aggregator lacks",  // a former one has it
};

static const char *const there_texts[] = {
    [THERE_ROWS] = " the rows of ",
    [THERE_RAW] = " raw files of ",
    [THERE_ROWS | THERE_RAW] = " rows and raw files of ",
};

static void name_there (uint64_t capture, char name[64])
{
    (void)snprintf (name, 64, LOST "%llu" THERE, (unsigned long long)capture);
}

/* What the note already says: one of the bits, or 0. */
static unsigned said_there (struct spool *s, const char *name)
{
    char text[SPOOL_LOSS_MAX];

    if (!spool_note (s, name, text, sizeof (text)))
        return 0;
    for (size_t v = 0; v < sizeof (there_verbs) / sizeof (there_verbs[0]); v++) {
        size_t n = strlen (there_verbs[v]);

        for (unsigned i = THERE_ROWS; i <= (THERE_ROWS | THERE_RAW); i++) {
            if (strncmp (text, there_verbs[v], n) == 0 &&
                strncmp (text + n, there_texts[i], strlen (there_texts[i])) == 0)
                return i;
        }
    }
    return 0;
}

/* " (rank N)", or "". */
static void name_rank (struct spool *s, uint64_t capture, char out[32])
{
    int64_t rank = db_number (spool_rows (s, NULL, "SELECT rank FROM capture "
                                          "WHERE id=?1", capture), -1);

    out[0] = '\0';
    if (rank >= 0)
        (void)snprintf (out, 32, " (rank %lld)", (long long)rank);
}

/* If only raw files are lost, the first one is named. */
int loss_there (struct spool *s, uint64_t capture, const char *capture_path,
                enum item_kind kind, const char *path, struct err *err)
{
    unsigned what = kind == ITEM_ROWS ? THERE_ROWS : THERE_RAW, before;
    char name[64], text[SPOOL_LOSS_MAX], former[MESSAGE_NAME_MAX], rank[32];
    bool other = spool_note (s, SPOOL_FORMER, former, sizeof (former)) &&
                 *former;

    name_there (capture, name);
    before = said_there (s, name);
    if ((before | what) == before)
        return 0;
    what |= before;
    name_rank (s, capture, rank);
    PRINT (text, "%s%s%.400s%s, which %.200s had acknowledged, and which is no "
           "longer here%s%.200s", there_verbs[other], there_texts[what],
           capture_path, rank, other ? former : "it",
           what == THERE_RAW ? "; the first is " : "",
           what == THERE_RAW ? path : "");
    return note_write (s, name, text, err);
}

int loss_clear_there (struct spool *s, uint64_t capture, struct err *err)
{
    char name[64];

    name_there (capture, name);
    return spool_do (s, err, "DELETE FROM note WHERE name=?1", name);
}

/* ---- all losses ---- */

/* Notes whose name matches. */
static int each_lost (struct spool *s, const char *names, spool_lost_fn *fn,
                      void *arg, struct err *err)
{
    struct db_rows r = spool_rows (s, err,
        "SELECT text, note.sum IS row_sum('n', note.name, text), c.path, "
        "ifnull(c.state, 0) IN (10, 11) FROM note LEFT JOIN capture c ON "
        "c.id=CAST(substr(note.name, 6) AS INTEGER) WHERE " NOTE_OF_LOSS
        " AND note.name GLOB ?1 ORDER BY c.id", names);
    const char *text, *path;
    bool good, again;
    int rc, n = 0;

    while (db_row (&r, text, good, path, again)) {
        if (fn)
            fn (arg, path ? path : "", again,
                good && text ? text : LOSS_UNKNOWN);
        n++;
    }
    rc = db_end (&r);
    return rc < 0 ? rc : n;
}

int spool_each_lost (struct spool *s, spool_lost_fn *fn, void *arg,
                     struct err *err)
{
    return each_lost (s, "*", fn, arg, err);
}

int spool_each_lost_there (struct spool *s, spool_lost_fn *fn, void *arg,
                           struct err *err)
{
    return each_lost (s, "*" THERE, fn, arg, err);
}
