/* aggregator/cluster_db/cluster_keys.c - sort the keys of an index on disk
 *
 * Most keys differ from the one before only in the op.  So a run has the
 * places, which are all but the op and the band, each followed by its keys.
 */
#include "cluster_db/cluster_keys.h"

#include "base/vec.h"
#include "cluster_db/cluster_names.h"
#include "store/fileio.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM (2u << 20)         // bytes of keys that are sorted at once
#define MERGE (4u << 20)        // bytes that are read at once, of all runs
#define READ_MIN 4096u          // of a run; more than a key
#define READ_MAX (64u << 10)
#define NO_KEY UINT32_MAX
#define BAND_SIZE 8u            // bytes, with its NUL

#define WORD sizeof (uint64_t)

/* A key, in memory and in a run; its text follows: the op, a NUL, the band,
 * and zeros up to a whole word.  A text of 0 bytes: a place, and its step and
 * group instead of a rowid.
 */
struct key {
    int64_t rowid;              // of the first row
    uint32_t next;              // offset of the next one of this place
    uint16_t size;              // of the text
    uint16_t rows;              // that have it, one after the other
};

/* The keys of a place, in the order of rows. */
struct place {
    uint64_t where, rank;       // step and group; 0 if the rank is not in it
    uint32_t n, first, last;
};

struct key_run {
    off_t at, end;
    const struct texts *steps;
};

/* ---- order ---- */

/* A place, by names. */
struct names {
    const char *step, *group;
    uint32_t step_size, group_size;
    uint64_t rank;
};

static struct names names_of (const struct cluster_keys *k,
                              const struct texts *steps, uint64_t where,
                              uint64_t rank)
{
    uint32_t step = (uint32_t)(where >> 32);
    const char *group = cluster_groups_at (k->groups, (uint32_t)where)->name;

    return (struct names){ texts_at (steps, step), group,
                           (uint32_t)texts_size (steps, step),
                           (uint32_t)strlen (group), rank };
}

static int compare_names (bool by_rank, const struct names *a,
                          const struct names *b)
{
    int step = a->step == b->step ? 0 : strcmp (a->step, b->step);
    int group = a->group == b->group ? 0 : strcmp (a->group, b->group);

    if (!by_rank)
        return group ? group : step;
    if (step || group)
        return step ? step : group;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static int compare_places (const void *pa, const void *pb, void *arg)
{
    const struct place *a = pa, *b = pb;
    const struct key_buffer *k = arg;
    struct names x = names_of (k->keys, k->steps, a->where, a->rank);
    struct names y = names_of (k->keys, k->steps, b->where, b->rank);

    return compare_names (k->keys->by_rank, &x, &y);
}

/* Texts are compared by words; at this speed sorting does not count. */
static inline int compare_texts (const struct key *a, const struct key *b)
{
    const char *s = (const char *)(a + 1), *t = (const char *)(b + 1);
    unsigned n = a->size < b->size ? a->size : b->size;

    for (unsigned i = 0; i < n; i += WORD) {
        uint64_t x, y;

        memcpy (&x, s + i, WORD);
        memcpy (&y, t + i, WORD);
        if (x != y)
            return be64toh (x) < be64toh (y) ? -1 : 1;
    }
    return (a->size > b->size) - (a->size < b->size);
}

/* ---- the file ---- */

int cluster_keys_create (struct cluster_keys *k, const char *path,
                         const struct cluster_groups *groups, bool by_rank,
                         struct err *err)
{
    *k = (struct cluster_keys){ .groups = groups, .by_rank = by_rank };
    (void)pthread_mutex_init (&k->lock, NULL);
    k->fd = open (path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (k->fd < 0)
        return err_sys (err, errno, "cannot create %s", path);
    (void)unlink (path);
    return 0;
}

void cluster_keys_fini (struct cluster_keys *k)
{
    if (!k->groups)
        return;
    if (k->fd >= 0)
        (void)close (k->fd);
    (void)pthread_mutex_destroy (&k->lock);
    free (k->runs);
    k->groups = NULL;
}

/* Write a sorted run behind the others. */
static int add_run (struct key_buffer *b, const uint8_t *bytes, size_t size,
                    struct err *err)
{
    struct cluster_keys *k = b->keys;
    struct key_run *more;
    off_t at = 0;
    int rc = 0;

    (void)pthread_mutex_lock (&k->lock);
    more = vec_one_more (k->runs, k->nruns, sizeof (*more));
    if (more) {
        at = k->end;
        k->end += (off_t)size;
        k->runs = more;
        more[k->nruns++] = (struct key_run){ at, k->end, b->steps };
    }
    (void)pthread_mutex_unlock (&k->lock);
    if (!more)
        return err_set (err, ENOMEM, "no memory for an index");
    rc = fileio_pwrite_all (k->fd, bytes, size, at);
    return rc < 0 ? err_sys (err, -rc, "cannot write the keys of an index") : 0;
}

/* ---- a run ---- */

static inline struct key *key_at (const struct key_buffer *b, uint32_t at)
{
    return (struct key *)(void *)(b->bytes + at);
}

/* Keys of the same text keep their order. */
static void sort_keys (const struct key_buffer *b, uint32_t *list,
                       uint32_t *spare, size_t n)
{
    size_t half = n / 2, i = 0, k = half;

    if (n < 2)
        return;
    sort_keys (b, list, spare, half);
    sort_keys (b, list + half, spare, n - half);
    if (compare_texts (key_at (b, list[half - 1]), key_at (b, list[half])) <= 0)
        return;
    memcpy (spare, list, half * sizeof (*list));
    for (size_t to = 0; i < half; to++) {
        bool later = k < n && compare_texts (key_at (b, list[k]),
                                             key_at (b, spare[i])) < 0;

        list[to] = later ? list[k++] : spare[i++];
    }
}

static uint8_t *put_key (uint8_t *to, const struct key *key)
{
    return (uint8_t *)mempcpy (to, key, sizeof (*key) + key->size);
}

/* Append a place and its keys to a run. */
static uint8_t *put_place (const struct key_buffer *b, uint8_t *to,
                           const struct place *p, uint32_t *list)
{
    const struct key head = { .rowid = (int64_t)p->where };
    uint32_t at = p->first;

    for (uint32_t i = 0; i < p->n; i++) {
        list[i] = at;
        at = key_at (b, at)->next;
    }
    sort_keys (b, list, list + p->n, p->n);
    to = put_key (to, &head);
    for (uint32_t i = 0; i < p->n; i++)
        to = put_key (to, key_at (b, list[i]));
    return to;
}

static int write_run (struct key_buffer *b, struct err *err)
{
    size_t size = b->used + b->places.n * sizeof (struct key);
    struct place *places = b->places.records;
    uint8_t *run = malloc (size + 1), *end = run;
    uint32_t *list = calloc (2 * (size_t)b->nkeys + 1, sizeof (*list));
    int rc = 0;

    if (!run || !list)
        rc = err_set (err, ENOMEM, "no memory for an index");
    if (rc == 0 && size > 0) {
        qsort_r (places, b->places.n, sizeof (*places), compare_places, b);
        for (uint32_t i = 0; i < b->places.n; i++)
            end = put_place (b, end, &places[i], list);
        rc = add_run (b, run, size, err);
    }
    free (run);
    free (list);
    map_clear (&b->places);
    b->used = b->nkeys = 0;
    b->last = NO_KEY;
    return rc;
}

/* ---- keys ---- */

int key_buffer_open (struct key_buffer *b, struct cluster_keys *keys,
                     const struct texts *steps, struct err *err)
{
    *b = (struct key_buffer){ .keys = keys, .steps = steps, .last = NO_KEY,
                              .places = MAP (struct place, 2) };
    b->bytes = malloc (ROOM);
    return b->bytes ? 0 : err_set (err, ENOMEM, "no memory for an index");
}

/* The place of a key; mostly that of the one before. */
static struct place *place_of (struct key_buffer *b, uint32_t step,
                               uint32_t group, int64_t rowid)
{
    struct place key = { .where = (uint64_t)step << 32 | group,
                         .rank = b->keys->by_rank ? (uint64_t)rowid >> 32 : 0 };
    struct place *p;
    bool is_new;

    if (b->last != NO_KEY) {
        p = map_at (&b->places, b->place);
        if (p->where == key.where && p->rank == key.rank)
            return p;
    }
    if (!(p = map_put (&b->places, &key, &is_new)))
        return NULL;
    b->place = (uint32_t)(p - (struct place *)b->places.records);
    b->last = NO_KEY;
    return p;
}

/* Make a key behind the others; it is not one of them yet. */
static struct key *make_key (struct key_buffer *b, const char *op, size_t size,
                             const char *band, int64_t rowid)
{
    struct key *key = key_at (b, b->used);
    char *text = (char *)(key + 1);
    size_t nband = strlen (band), all = size + (nband ? 1 + nband : 0);

    all = all / WORD * WORD + WORD;             // and a NUL
    memset (text + all - WORD, 0, WORD);
    memcpy (text, op, size);
    if (nband > 0) {
        text[size] = '\0';
        memcpy (text + size + 1, band, nband);
    }
    *key = (struct key){ .rowid = rowid, .size = (uint16_t)all, .rows = 1 };
    return key;
}

int key_buffer_add (struct key_buffer *b, uint32_t step, uint32_t group,
                    const char *op, size_t size, const char *band,
                    int64_t rowid, bool same, struct err *err)
{
    size_t most = sizeof (struct key) + size + BAND_SIZE + 2 * WORD;
    struct key *key = b->last == NO_KEY ? NULL : key_at (b, b->last);
    struct place *p;
    int rc = 0;

    if (same && key && key->rowid + key->rows == rowid &&
        key->rows < UINT16_MAX) {
        key->rows++;
        return 0;
    }
    if (b->used + most > ROOM && (rc = write_run (b, err)) < 0)
        return rc;
    if (!(p = place_of (b, step, group, rowid)))
        return err_set (err, ENOMEM, "no memory for an index");
    key = make_key (b, op, size, band, rowid);
    b->nkeys++;
    if (p->n++ == 0)
        p->first = b->used;
    else
        key_at (b, p->last)->next = b->used;
    p->last = b->last = b->used;
    b->used += (uint32_t)(sizeof (*key) + key->size);
    return 0;
}

int key_buffer_close (struct key_buffer *b, int rc, struct err *err)
{
    if (rc == 0 && b->keys)
        rc = write_run (b, err);
    map_fini (&b->places);
    free (b->bytes);
    *b = (struct key_buffer){ .keys = NULL };
    return rc;
}

/* ---- merging ---- */

/* A run that is read, at a key. */
struct cursor {
    const struct key_run *run;
    off_t next;                 // what was not read yet
    uint8_t *bytes;             // a part of it
    size_t at, used, room;
    struct names place;
    const struct key *key;
};

struct merge {
    const struct cluster_keys *keys;
    struct cursor *cursors, **heap;     // the lowest key first
    size_t n;                   // of the heap
    uint8_t *bytes;
};

static int read_more (const struct cluster_keys *k, struct cursor *c,
                      struct err *err)
{
    size_t left = c->used - c->at, n = c->room - left;
    int rc;

    memmove (c->bytes, c->bytes + c->at, left);
    if ((off_t)n > c->run->end - c->next)
        n = (size_t)(c->run->end - c->next);
    rc = n > 0 ? fileio_pread_all (k->fd, c->bytes + left, n, c->next) : -EIO;
    c->next += (off_t)n;
    c->at = 0;
    c->used = left + n;
    return rc < 0 ? err_sys (err, -rc, "cannot read the keys of an index") : 0;
}

/* Go to the next key: 1, or 0 behind the last one. */
static int next_key (const struct cluster_keys *k, struct cursor *c,
                     struct err *err)
{
    for (;;) {
        const struct key *key = (const void *)(c->bytes + c->at);
        size_t left = c->used - c->at;
        int rc;

        if (left == 0 && c->next == c->run->end)
            return 0;
        if (left < sizeof (*key) || left < sizeof (*key) + key->size) {
            if ((rc = read_more (k, c, err)) < 0)
                return rc;
            continue;
        }
        c->at += sizeof (*key) + key->size;
        c->key = key;
        if (key->size > 0)
            break;
        c->place = names_of (k, c->run->steps, (uint64_t)key->rowid, 0);
    }
    if (k->by_rank)
        c->place.rank = (uint64_t)c->key->rowid >> 32;
    return 1;
}

static int compare_cursors (const struct merge *m, const struct cursor *a,
                            const struct cursor *b)
{
    int order = compare_names (m->keys->by_rank, &a->place, &b->place);

    if (order == 0)
        order = compare_texts (a->key, b->key);
    return order ? order
                 : (a->key->rowid > b->key->rowid) -
                   (a->key->rowid < b->key->rowid);
}

/* Move the cursor at the i-th place down to where it belongs. */
static void sift_down (struct merge *m, size_t i)
{
    struct cursor *c = m->heap[i];

    for (size_t child; (child = 2 * i + 1) < m->n; i = child) {
        if (child + 1 < m->n &&
            compare_cursors (m, m->heap[child + 1], m->heap[child]) < 0)
            child++;
        if (compare_cursors (m, c, m->heap[child]) <= 0)
            break;
        m->heap[i] = m->heap[child];
    }
    m->heap[i] = c;
}

static int begin_merge (struct merge *m, struct err *err)
{
    size_t n = m->keys->nruns, room = MERGE / (n + 1) / WORD * WORD;

    room = room < READ_MIN ? READ_MIN : room > READ_MAX ? READ_MAX : room;
    m->cursors = calloc (n + 1, sizeof (*m->cursors));
    m->heap = calloc (n + 1, sizeof (struct cursor *));
    m->bytes = malloc ((n + 1) * room);
    if (!m->cursors || !m->heap || !m->bytes)
        return err_set (err, ENOMEM, "no memory for an index");
    for (size_t i = 0; i < n; i++) {
        struct cursor *c = &m->cursors[i];
        int rc;

        *c = (struct cursor){ .run = &m->keys->runs[i], .room = room,
                              .next = m->keys->runs[i].at,
                              .bytes = m->bytes + i * room };
        if ((rc = next_key (m->keys, c, err)) < 0)
            return rc;
        if (rc == 1)
            m->heap[m->n++] = c;
    }
    for (size_t i = m->n; i-- > 0;)
        sift_down (m, i);
    return 0;
}

static unsigned key_values (const struct cluster_keys *k,
                            const struct cursor *c, struct page_value *values)
{
    const char *op = (const char *)(c->key + 1);
    size_t nop = strlen (op);
    const char *band = nop + 1 < c->key->size ? op + nop + 1 : "";
    const struct names *p = &c->place;
    unsigned n = 0;

    if (k->by_rank)
        values[n++] = page_text (p->step, p->step_size);
    values[n++] = page_text (p->group, p->group_size);
    values[n++] = k->by_rank ? page_int ((int64_t)p->rank)
                             : page_text (p->step, p->step_size);
    values[n++] = page_text (op, (uint32_t)nop);
    if (*band)
        values[n++] = page_text (band, (uint32_t)strlen (band));
    return n;
}

static int write_key (const struct cluster_keys *k, const struct cursor *c,
                      struct page_writer *x, struct err *err)
{
    struct page_value values[5];
    unsigned n = key_values (k, c, values);

    return page_writer_keys (x, c->key->rowid, c->key->rows, values, n, err);
}

int cluster_keys_write (const struct cluster_keys *k, struct page_writer *x,
                        const atomic_bool *cancel, struct err *err)
{
    struct merge m = { .keys = k };
    int rc = begin_merge (&m, err);

    while (rc == 0 && m.n > 0) {
        struct cursor *c = m.heap[0];

        if (cancel && atomic_load_explicit (cancel, memory_order_relaxed))
            rc = err_set (err, EINTR, "interrupted");
        if (rc == 0)
            rc = write_key (k, c, x, err);
        if (rc == 0 && (rc = next_key (k, c, err)) == 0)
            m.heap[0] = m.heap[--m.n];
        if (rc == 1)
            rc = 0;
        if (rc == 0 && m.n > 0)
            sift_down (&m, 0);
    }
    free (m.cursors);
    free (m.heap);
    free (m.bytes);
    return rc;
}
