/* cli/interchange/get_missing.c - whose raw files a root does not have */
#include "get_missing.h"

#include "base/cmp.h"
#include "base/units.h"
#include "base/vec.h"
#include "model/shipment.h"
#include "options/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct rank_bytes {
    int64_t rank;
    uint64_t said, there;       // bytes of raw files, as the rows say; that were
                                // written
    bool damaged;               // one of them is
};

void get_missing_init (struct get_missing *m)
{
    *m = (struct get_missing){ .ranks = MAP (struct rank_bytes, 1) };
}

void get_missing_fini (struct get_missing *m)
{
    map_fini (&m->ranks);
    free (m->list);
}

int get_missing_end (struct get_missing *m)
{
    for (uint32_t i = 0; i < m->ranks.n; i++) {
        const struct rank_bytes *r = map_at (&m->ranks, i);
        bool missing = !r->damaged && r->there < r->said;

        m->nameless = m->nameless || (missing && r->rank < 0);
        if (missing && r->rank >= 0 &&
            vec_push (&m->list, &m->n, &r->rank, sizeof (r->rank)) < 0)
            return -ENOMEM;
    }
    if (m->n > 1)
        qsort (m->list, m->n, sizeof (*m->list), cmp_int64);
    return m->n > 0 || m->nameless;
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
    bool is_new;
    struct rank_bytes *r = map_put (&m->ranks, &i->rank, &is_new);
    struct stat st;
    int fd;

    if (!r)
        return -ENOMEM;
    r->damaged = r->damaged || damaged;
    if (damaged || (fd = tree_openat (out->fd, path, O_RDONLY | O_NONBLOCK, 0,
                                      false)) < 0)
        return 0;
    if (fstat (fd, &st) < 0)
        r->damaged = true;
    else if (i->kind == ITEM_ROWS)
        r->said += size_said (fd, (uint64_t)st.st_size);
    else
        r->there += (uint64_t)st.st_size;
    (void)close (fd);
    return 0;
}

static void print_ranges (const struct get_missing *m, FILE *f)
{
    for (size_t i = 0, end; i < m->n; i = end) {
        for (end = i + 1;
             end < m->n && m->list[end] == m->list[end - 1] + 1;)
            end++;
        (void)fprintf (f, "%s%lld", i > 0 ? ", " : "",
                       (long long)m->list[i]);
        if (end - i > 1)
            (void)fprintf (f, "%s%lld", end - i > 2 ? "-" : ", ",
                           (long long)m->list[end - 1]);
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
        PRINT (rank, "%lld", (long long)m->list[0]);
    (void)fprintf (f, ": rollcall fetch --rank %s %s asks for them", rank,
                   shell_word (job, word));
}
