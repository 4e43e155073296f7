/* node_agent/spool/spool_marks.c - how far acknowledgements are valid
 *
 * The table 'note' has rows for this: for each copy the mark that came with its
 * latest acknowledgements, and, during a redelivery, the last item that it is
 * about.
 * If there are acknowledgements without any mark, they are from a version that
 * had none, or a note is damaged: nobody can tell whether they are still valid.
 */
#include "spool/spool_private.h"

#include <inttypes.h>
#include <stdio.h>

// EPOCH SEQ, of each copy
static const char *const names[SPOOL_COPIES_ALL] = { "mark", "mark 2",
                                                     "mark raw", "mark raw 2" };

#define REDELIVER "redeliver"   // the item's id, or 0; whether it is in doubt

// notes that are, or may have been, one of these
#define BAD_NOTES " FROM note WHERE sum IS NOT row_sum('n', name, text) AND " \
    "NOT " NOTE_OF_LOSS

int marks_drop_bad (struct spool *s, struct err *err)
{
    return spool_do (s, err, "DELETE" BAD_NOTES);
}

static void mark_load (struct spool *s, unsigned copy, bool bad)
{
    struct copy_mark *m = &s->marks[copy];
    char text[64];

    m->known = !bad && spool_note (s, names[copy], text, sizeof (text)) &&
               sscanf (text, "%" SCNu64 " %" SCNu64, &m->last.epoch,
                       &m->last.seq) == 2;
    if (!m->known)
        m->last = (struct ledger_mark){ 0, 0 };
}

void marks_load (struct spool *s)
{
    bool bad = db_number (spool_rows (s, NULL, "SELECT EXISTS (SELECT 1"
                                      BAD_NOTES ")"), 1) != 0;
    char text[64];
    int doubt = 0;

    for (unsigned i = 0; i < SPOOL_COPIES_ALL; i++)
        mark_load (s, i, bad);
    if (!spool_note (s, REDELIVER, text, sizeof (text)) ||
        sscanf (text, "%" SCNu64 " %d", &s->redeliver, &doubt) < 1)
        s->redeliver = 0;
    s->in_doubt = doubt != 0;
}

int mark_write (struct spool *s, unsigned copy, const struct ledger_mark *m,
                struct err *err)
{
    char text[64];

    PRINT (text, "%" PRIu64 " %" PRIu64, m->epoch, m->seq);
    return note_write (s, names[copy], text, err);
}

static int mark_remove (struct spool *s, unsigned copy, struct err *err)
{
    return spool_do (s, err, "DELETE FROM note WHERE name=?1", names[copy]);
}

int marks_save (struct spool *s, struct err *err)
{
    int rc = 0;

    for (unsigned i = 0; i < SPOOL_COPIES_ALL && rc >= 0; i++) {
        const struct copy_mark *m = &s->marks[i];

        if (m->due)
            rc = m->last.epoch == 0 ? mark_remove (s, i, err)
                                    : mark_write (s, i, &m->last, err);
    }
    return rc;
}

void marks_saved (struct spool *s)
{
    for (unsigned i = 0; i < SPOOL_COPIES_ALL; i++)
        s->marks[i].due = false;
}

/* The copies that are not among these and have a mark. */
static unsigned find_marks (struct spool *s, unsigned copies)
{
    unsigned found = 0;
    char text[64];

    for (unsigned i = 0; i < SPOOL_COPIES_ALL; i++) {
        if (!(copies >> i & 1) && spool_note (s, names[i], text, sizeof (text)))
            found |= 1U << i;
    }
    return found;
}

/* 'last': what was delivered up to this item has to be asked for; 0: nothing. */
static int forget_marks (struct spool *s, unsigned copies, uint64_t last,
                         struct err *err)
{
    int rc = spool_ledger_begin (s, err);

    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < SPOOL_COPIES_ALL && rc == 0; i++) {
        if (copies >> i & 1)
            rc = mark_remove (s, i, err);
    }
    if (rc == 0 && last > 0)
        rc = redeliver_write (s, last, true, err);
    return spool_ledger_finish (s, rc, "agent.spool.note.commit", err);
}

int spool_copies (struct spool *s, unsigned copies, struct err *err)
{
    unsigned found = find_marks (s, copies);
    uint64_t last = 0;
    int rc;

    if (found >> SPOOL_RAW_COPY)
        last = (uint64_t)db_number (spool_rows (s, NULL, "SELECT ifnull(max(id),"
                                                " 0) FROM item"), 0);
    if (found && (rc = forget_marks (s, found, last, err)) < 0)
        return rc;
    for (unsigned i = 0; i < SPOOL_COPIES_ALL; i++) {
        if (!(copies >> i & 1))
            s->marks[i] = (struct copy_mark){ .known = false };
    }
    if (last > 0) {
        s->redeliver = last;
        s->in_doubt = true;
    }
    return last > 0;
}

struct ledger_mark spool_mark (const struct spool *s, unsigned copy)
{
    return s->marks[copy].last;
}

void spool_set_mark (struct spool *s, unsigned copy,
                     const struct ledger_mark *mark)
{
    struct copy_mark *m = &s->marks[copy];

    if (mark->epoch == 0) {     // earlier acknowledgements stay valid, unless
        if (m->known && m->last.epoch == 0)     // these are none, either
            m->due = true;
        m->known = m->known && m->last.epoch != 0;
        return;
    }
    m->due = m->due || mark->epoch != m->last.epoch ||
             mark->seq != m->last.seq;
    m->last = *mark;
}

bool spool_has_delivered (const struct spool *s)
{
    uint64_t n = 0;

    for (int kind = ITEM_ROWS; kind <= ITEM_RAW; kind++)
        n += s->tally[kind][SPOOL_DURABLE].items +
             s->tally[kind][SPOOL_RELEASED].items;
    return n > 0;
}

bool spool_lacks_mark (const struct spool *s, unsigned copy)
{
    const struct copy_mark *m = &s->marks[copy];

    return !m->known && m->last.epoch == 0 && spool_has_delivered (s);
}

int redeliver_write (struct spool *s, uint64_t last, bool doubt,
                     struct err *err)
{
    char text[32];

    PRINT (text, "%" PRIu64 " %d", last, doubt);
    return note_write (s, REDELIVER, text, err);
}
