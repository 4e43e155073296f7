/* node_agent/spool/spool_marks.c - how far acknowledgements are valid
 *
 * The table 'note' has two rows for this: the mark that came with the latest
 * acknowledgements, and, during a redelivery, the last item that it is about.
 * If there are acknowledgements without any mark, they are from a version that
 * had none, or a note is damaged: nobody can tell whether they are still valid.
 */
#include "spool/spool_private.h"

#include <inttypes.h>
#include <stdio.h>

#define MARK "mark"             // EPOCH SEQ
#define REDELIVER "redeliver"   // the item's id, or 0; whether it is in doubt

// notes that are, or may have been, one of these
#define BAD_NOTES " FROM note WHERE sum IS NOT row_sum('n', name, text) AND " \
    "NOT " NOTE_OF_LOSS

int marks_drop_bad (struct spool *s, struct err *err)
{
    return spool_do (s, err, "DELETE" BAD_NOTES);
}

void marks_load (struct spool *s)
{
    char text[64];
    int doubt = 0;

    s->marked = !db_number (spool_rows (s, NULL, "SELECT EXISTS (SELECT 1"
                                        BAD_NOTES ")"), 1) &&
                spool_note (s, MARK, text, sizeof (text)) &&
                sscanf (text, "%" SCNu64 " %" SCNu64, &s->mark.epoch,
                        &s->mark.seq) == 2;
    if (!s->marked)
        s->mark = (struct ledger_mark){ 0, 0 };
    if (!spool_note (s, REDELIVER, text, sizeof (text)) ||
        sscanf (text, "%" SCNu64 " %d", &s->redeliver, &doubt) < 1)
        s->redeliver = 0;
    s->in_doubt = doubt != 0;
}

int mark_write (struct spool *s, const struct ledger_mark *m,
                       struct err *err)
{
    char text[64];

    PRINT (text, "%" PRIu64 " %" PRIu64, m->epoch, m->seq);
    return note_write (s, MARK, text, err);
}

int mark_save (struct spool *s, struct err *err)
{
    if (!s->mark_due)
        return 0;
    return s->mark.epoch == 0
               ? spool_do (s, err, "DELETE FROM note WHERE name='" MARK "'")
               : mark_write (s, &s->mark, err);
}

struct ledger_mark spool_mark (const struct spool *s)
{
    return s->mark;
}

void spool_set_mark (struct spool *s, const struct ledger_mark *mark)
{
    if (mark->epoch == 0) {     // earlier acknowledgements stay valid, unless
        if (s->marked && s->mark.epoch == 0)    // these are none, either
            s->mark_due = true;
        s->marked = s->marked && s->mark.epoch != 0;
        return;
    }
    s->mark_due = s->mark_due || mark->epoch != s->mark.epoch ||
                  mark->seq != s->mark.seq;
    s->mark = *mark;
}

bool spool_has_delivered (const struct spool *s)
{
    uint64_t n = 0;

    for (int kind = ITEM_ROWS; kind <= ITEM_RAW; kind++)
        n += s->tally[kind][SPOOL_DURABLE].items +
             s->tally[kind][SPOOL_RELEASED].items;
    return n > 0;
}

bool spool_lacks_mark (const struct spool *s)
{
    return !s->marked && s->mark.epoch == 0 && spool_has_delivered (s);
}

int redeliver_write (struct spool *s, uint64_t last, bool doubt,
                            struct err *err)
{
    char text[32];

    PRINT (text, "%" PRIu64 " %d", last, doubt);
    return note_write (s, REDELIVER, text, err);
}
