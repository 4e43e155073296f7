/* aggregator/ledger/size_claims.c - claims of how many ranks a job has */
#include "ledger/size_claims.h"

#include "base/cmp.h"
#include "base/units.h"
#include "base/vec.h"

#include "model/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED_MAX 3             // of the outliers, in one note

bool size_claim_valid (const struct size_claim *w)
{
    return w->by >= CLAIM_NODE && w->by <= CLAIM_MPI && w->world_size >= 0 &&
           w->world_size <= CAPTURE_WORLD_LIMIT;
}

static int size_claims_compare (const void *pa, const void *pb)
{
    const struct size_claim *a = pa, *b = pb;
    int order = a->by != b->by ? (a->by < b->by ? -1 : 1)
                               : strcmp (a->who, b->who);

    return order ? order : strcmp (a->host, b->host);
}

/* The index of the claim of the same source, or where to insert it. */
static size_t place_of (const struct size_claims *w,
                        const struct size_claim *word)
{
    return cmp_place (word, w->list, w->n, sizeof (*word),
                      size_claims_compare);
}

const struct size_claim *size_claims_find (const struct size_claims *w,
                                           const struct size_claim *of)
{
    size_t at = place_of (w, of);

    return at < w->n && size_claims_compare (&w->list[at], of) == 0
               ? &w->list[at] : NULL;
}

int size_claims_put (struct size_claims *w, const struct size_claim *word)
{
    const struct size_claim *known = size_claims_find (w, word);
    size_t at = place_of (w, word);
    struct size_claim *p;

    if (known && known->world_size == word->world_size)
        return 0;
    if (known) {
        w->list[at] = *word;
        return 1;
    }
    if (word->world_size == 0)
        return 0;
    if (w->n >= (word->by == CLAIM_FRONT || word->by == CLAIM_EXPECT
                     ? CLAIMS_MAX : CLAIMS_MAX - CLAIMS_RESERVED))
        return -E2BIG;
    if (!(p = vec_insert (&w->list, &w->n, at, sizeof (*p))))
        return -ENOMEM;
    *p = *word;
    return 1;
}

void size_claims_fini (struct size_claims *w)
{
    free (w->list);
    w->list = NULL;
    w->n = 0;
}

static int by_size (const void *pa, const void *pb)
{
    const struct size_claim *a = *(const struct size_claim *const *)pa;
    const struct size_claim *b = *(const struct size_claim *const *)pb;

    return (a->world_size > b->world_size) - (a->world_size < b->world_size);
}

/* The most frequent size of these claims, which are sorted by size. */
static const struct size_claim *most_frequent (const struct size_claim **by,
                                               size_t n)
{
    const struct size_claim *usual = NULL;
    size_t most = 0;

    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && by[end]->world_size == by[i]->world_size;)
            end++;
        if (end - i >= most) {
            most = end - i;
            usual = by[i];
        }
    }
    return usual;
}

/* Collect in 'by' the claims of the strongest kind other than MPI's; or MPI's.
 */
static size_t size_claims_choose (const struct size_claims *w, bool mpi,
                                  const struct size_claim **by)
{
    enum size_claim_by top = CLAIM_NODE;
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++) {
        if (w->list[i].world_size == 0 || (w->list[i].by == CLAIM_MPI) != mpi)
            continue;
        if (w->list[i].by > top)
            n = 0;              // a stronger kind: drop the others
        top = w->list[i].by;
        by[n++] = &w->list[i];
    }
    if (n > 0)
        qsort (by, n, sizeof (*by), by_size);
    return n;
}

const struct size_claim *size_claims_settle (const struct size_claims *w)
{
    const struct size_claim **by = calloc (w->n + 1, sizeof (*by));
    const struct size_claim *usual, *mpi;

    if (!by)
        return NULL;
    usual = most_frequent (by, size_claims_choose (w, false, by));
    mpi = most_frequent (by, size_claims_choose (w, true, by));
    free (by);
    if (!mpi || (usual && (usual->by == CLAIM_EXPECT ||
                           usual->world_size >= mpi->world_size)))
        return usual;
    return mpi;
}

static void name_word (const struct size_claim *w, char *out, size_t size)
{
    (void)snprintf (out, size, "%s%s%.100s%s%s says %lld",
                    w->by == CLAIM_MPI ? "MPI on " : "",
                    *w->host ? "host " : "a node", w->host,
                    *w->who ? ", key " : "", w->who,
                    (long long)w->world_size);
}

/* Whether a node claims another size than the one that counts. */
static bool is_outlier (const struct size_claim *w, int64_t size)
{
    return w->by == CLAIM_MPI ? w->world_size > size
                             : w->by == CLAIM_NODE && w->world_size != 0 &&
                                   w->world_size != size;
}

static void note_outliers (const struct size_claims *w, int64_t size,
                           const char *known_by, char *note, size_t max)
{
    size_t used = 0, found = 0;
    char one[256];

    for (size_t i = 0; i < w->n; i++) {
        if (!is_outlier (&w->list[i], size) || ++found > NAMED_MAX)
            continue;
        name_word (&w->list[i], one, sizeof (one));
        used += (size_t)snprintf (note + used, max - used, "%s%s",
                                  used ? "; " : "", one);
    }
    if (found > NAMED_MAX)
        used += (size_t)snprintf (note + used, max - used, "; and %zu more "
                                  "node%s reported another "
                                  "number", found - NAMED_MAX,
                                  units_s (found - NAMED_MAX));
    if (found > 0)
        (void)snprintf (note + used, max - used, ": not used, %lld rank%s %s "
                        "expected (%s); rollcall jobs --expect corrects "
                        "it", (long long)size,
                        units_s ((uint64_t)size), units_are ((uint64_t)size),
                        known_by);
}

int64_t size_claims_judge (const struct size_claims *w, bool run,
                           int64_t agreed,
                           const char **known_by, char *note, size_t size)
{
    static const char *const names[] = {
        [CLAIM_NODE] = "agents", [CLAIM_FRONT] = "--world-size",
        [CLAIM_EXPECT] = "rollcall jobs --expect", [CLAIM_MPI] = "MPI",
    };
    const struct size_claim *s = size_claims_settle (w);
    int64_t expected = s ? s->world_size : 0;

    note[0] = '\0';
    *known_by = !s ? "" : run && s->by < CLAIM_EXPECT ? "rollcall run"
                                                     : names[s->by];
    if (s && !run && (s->by == CLAIM_NODE || s->by == CLAIM_MPI) &&
        agreed > 0 && agreed != expected) {
        expected = agreed;
        *known_by = "metadata of the captures";
    }
    if (s && s->by != CLAIM_EXPECT)
        note_outliers (w, expected, *known_by, note, size);
    return expected;
}
