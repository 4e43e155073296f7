/* cli/interchange/get_missing.c - whose raw files a root does not have */
#include "get_missing.h"

#include "base/units.h"
#include "base/vec.h"
#include "model/shipment.h"
#include "options/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int get_missing_end (struct get_missing *m)
{
    bool missing = m->begun && !m->damaged && m->there < m->said;

    m->nameless = m->nameless || (missing && m->now < 0);
    if (missing && m->now >= 0 &&
        vec_push (&m->ranks, &m->n, &m->now, sizeof (m->now)) < 0)
        return -ENOMEM;
    m->begun = m->damaged = false;
    m->said = m->there = 0;
    return 0;
}

/* The size of the capture's raw files when its rows were read. */
static uint64_t size_said (int fd, uint64_t size)
{
    const struct byte_source from = byte_source_of (fd, 0, size);
    struct capture c;
    uint64_t said;

    capture_init (&c);
    said = shipment_read_meta (&from, &c, NULL) == 0 ? c.raw_bytes : 0;
    capture_fini (&c);
    return said;
}

int get_missing_note (struct get_missing *m, const struct tree *out,
                      const char *path, const struct ledger_item *i,
                      bool damaged)
{
    struct stat st;
    int fd = -1, rc = 0;

    if (m->begun && m->now != i->rank)
        rc = get_missing_end (m);
    m->begun = true;
    m->now = i->rank;
    m->damaged = m->damaged || damaged;
    if (!damaged)
        fd = tree_openat (out->fd, path, O_RDONLY | O_NONBLOCK, 0, false);
    if (fd < 0)
        return rc;
    if (fstat (fd, &st) < 0)
        m->damaged = true;
    else if (i->kind == ITEM_ROWS)
        m->said += size_said (fd, (uint64_t)st.st_size);
    else
        m->there += (uint64_t)st.st_size;
    (void)close (fd);
    return rc;
}

static void print_ranges (const struct get_missing *m, FILE *f)
{
    for (size_t i = 0, end; i < m->n; i = end) {
        for (end = i + 1;
             end < m->n && m->ranks[end] == m->ranks[end - 1] + 1;)
            end++;
        (void)fprintf (f, "%s%lld", i > 0 ? ", " : "",
                       (long long)m->ranks[i]);
        if (end - i > 1)
            (void)fprintf (f, "%s%lld", end - i > 2 ? "-" : ", ",
                           (long long)m->ranks[end - 1]);
    }
}

void get_missing_tell (const struct get_missing *m, const char *job, bool none,
                       const char *elsewhere, FILE *f)
{
    char word[SHELL_WORD (MESSAGE_NAME_MAX)], rank[24] = "R";

    if (m->n == 0 && !m->nameless)
        return;
    (void)fprintf (f, ": %s of ", none ? "rows only. Raw files"
                                       : "some raw files");
    if (m->n > 0)
        (void)fprintf (f, "rank%s ", units_s (m->n));
    print_ranges (m, f);
    if (m->nameless)
        (void)fprintf (f, "%scaptures without a rank", m->n ? ", and of " : "");
    if (*elsewhere)
        (void)fprintf (f, " are not here: those of this job are delivered to %s",
                       elsewhere);
    else
        (void)fputs (" were not delivered", f);
    if (m->n == 0 || *elsewhere)
        return;
    if (m->n == 1)
        PRINT (rank, "%lld", (long long)m->ranks[0]);
    (void)fprintf (f, ": rollcall fetch --rank %s %s asks for them", rank,
                   shell_word (job, word));
}

void get_missing_fini (struct get_missing *m)
{
    free (m->ranks);
}
