/* common/model/rank_list.c - lists of ranks that many captures repeat */
#include "model/rank_list.h"

#include "base/buf.h"
#include "base/texts.h"
#include "base/units.h"
#include "base/vec.h"
#include "json/scan.h"
#include "model/capture.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 64u                // groups whose list is kept
#define KEEP_LEAST 64u          // ranks; shorter lists are parsed as quickly
#define TEXT_OF_RANK (SCAN_SAME_KEEP / 2)       // bytes, with blanks

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rank_list *kept[KEPT];    // by the hash of the group

void rank_list_drop (struct rank_list *l)
{
    if (!l || atomic_fetch_sub (&l->users, 1) > 1)
        return;
    free (l->ranks);
    free (l->group);
    free (l->text);
    free (l);
}

struct rank_list *rank_list_of (int32_t *ranks, uint32_t n)
{
    struct rank_list *l = calloc (1, sizeof (*l));

    if (!l)
        return NULL;
    l->ranks = ranks;
    l->n = n;
    l->users = 1;
    return l;
}

struct rank_list *rank_list_share (struct rank_list *l)
{
    atomic_fetch_add (&l->users, 1);
    return l;
}

static struct rank_list **place_of (const char *group)
{
    return &kept[texts_hash (group, strlen (group)) % KEPT];
}

/* The list that is kept for a group, for the caller to drop; or NULL. */
static struct rank_list *find (const char *group)
{
    struct rank_list *l;

    (void)pthread_mutex_lock (&lock);
    l = *place_of (group);
    l = l && strcmp (l->group, group) == 0 ? rank_list_share (l) : NULL;
    (void)pthread_mutex_unlock (&lock);
    return l;
}

/* Keep a list in place of an older one of this group, or of a shorter one. */
static void keep (struct rank_list *l)
{
    struct rank_list **place = place_of (l->group), *before;

    (void)pthread_mutex_lock (&lock);
    before = *place;
    if (!before || before->n <= l->n || strcmp (before->group, l->group) == 0) {
        *place = rank_list_share (l);
    } else {
        before = NULL;
    }
    (void)pthread_mutex_unlock (&lock);
    rank_list_drop (before);
}

/* ---- reading ---- */

bool rank_list_rank (struct scan *s, bool texts, int64_t *ret)
{
    const int64_t end = texts ? capture_world_max : CAPTURE_WORLD_LIMIT;
    char c = scan_peek (s), digits[24];
    const char *text;
    double v = -1;
    size_t n;

    *ret = -1;
    if (c == '"' && texts) {
        if (!scan_text (s, &text, &n))
            return false;
        if (n < sizeof (digits)) {
            memcpy (digits, text, n);
            digits[n] = '\0';
            if (units_int (digits, 0, end - 1, ret) < 0)
                *ret = -1;
        }
        return true;
    }
    if (c != '-' && (c < '0' || c > '9'))
        return scan_skip (s);
    if (!scan_real (s, &v))
        return false;
    if (v >= 0 && v < (double)end && v == (double)(int64_t)v)
        *ret = (int64_t)v;
    return true;
}

/* A list that is being read. */
struct reader {
    struct scan *s;
    struct rank_list *l;
    struct buf text;            // as far as it was read
    bool plain;                 // it has only short numbers, all in 'text'
    const char *bad;
};

static int add (struct reader *r, int64_t rank)
{
    struct rank_list *l = r->l;
    int32_t *added;

    if (rank < 0)
        r->bad = "has something else than ranks below --max-ranks in its list";
    else if (l->n == CAPTURE_WORLD_LIMIT)
        r->bad = "lists too many ranks";
    if (r->bad)
        return 0;
    if (!(added = vec_next (&l->ranks, l->n, sizeof (*added))))
        return -ENOMEM;
    *added = (int32_t)rank;
    l->n++;
    return 0;
}

/* Add what was read since 'from' to the text. */
static void note_text (struct reader *r, const char *from, uint64_t offset)
{
    size_t n = (size_t)(r->s->at - from);

    if (r->s->offset != offset || n > TEXT_OF_RANK || memchr (from, '"', n))
        r->plain = false;       // the buffer has moved, or it is odd
    if (r->plain)
        buf_put (&r->text, from, n);
}

/* Read the elements; '*first' as for scan_element. */
static int read_elements (struct reader *r, bool first, bool texts)
{
    struct scan *s = r->s;
    int rc = 0;

    for (bool more = true; more && rc == 0;) {
        const char *from;
        uint64_t offset;
        int64_t rank;

        if (s->end - s->at < (ptrdiff_t)(SCAN_AHEAD + TEXT_OF_RANK) && !s->eof)
            scan_refill (s);    // not within the next rank
        from = s->at;
        offset = s->offset;
        more = scan_element (s, &first);
        if (more && rank_list_rank (s, texts, &rank))
            rc = add (r, rank);
        if (s->failed)
            return -EBADMSG;
        note_text (r, from, offset);
    }
    return rc;
}

/* Take over the ranks that the kept list has in the first bytes of its text. */
static int take_begin (struct reader *r, const struct rank_list *known,
                       size_t size)
{
    struct rank_list *l = r->l;
    uint32_t n = 1;

    for (size_t i = 0; i < size; i++)
        n += known->text[i] == ',';
    buf_put (&r->text, known->text, size);
    for (uint32_t i = 0; i < n; i++) {
        int rc = add (r, known->ranks[i]);

        if (rc < 0)
            return rc;
    }
    return l->n == n ? 0 : -EBADMSG;
}

/* Read a list that differs from the kept one at byte 'same', if there is one. */
static int read_list (struct reader *r, const struct rank_list *known,
                      size_t same, bool texts)
{
    int rc = 0;

    if (same > 0) {
        rc = take_begin (r, known, same);
    } else if (scan_array (r->s)) {
        buf_put (&r->text, "[", 1);
    } else {
        return -EBADMSG;
    }
    return rc < 0 ? rc : read_elements (r, same == 0, texts);
}

static void keep_text (struct reader *r, const char *group)
{
    struct rank_list *l = r->l;

    if (r->bad || !r->plain || r->text.failed || l->n < KEEP_LEAST ||
        *group == '\0' || !(l->group = strdup (group)))
        return;
    l->text = (char *)r->text.data;
    l->size = r->text.size;
    buf_init (&r->text, 0);     // the list has it
    keep (l);
}

int rank_list_read (struct scan *s, const char *group, bool texts,
                    struct rank_list **ret, const char **bad)
{
    struct reader r = { .s = s, .plain = true };
    struct rank_list *known = find (group);
    size_t same = known ? scan_same_array (s, known->text, known->size) : 0;
    int rc;

    *bad = NULL;
    if (known && same == known->size) {
        *ret = known;
        return 0;
    }
    buf_init (&r.text, TEXT_OF_RANK * CAPTURE_WORLD_LIMIT);
    r.l = rank_list_of (NULL, 0);
    rc = r.l ? read_list (&r, known, same, texts) : -ENOMEM;
    if (rc == 0)
        keep_text (&r, group);
    rank_list_drop (known);
    buf_fini (&r.text);
    *bad = r.bad;
    *ret = r.l;
    if (rc < 0) {
        rank_list_drop (r.l);
        *ret = NULL;
    }
    return rc;
}
