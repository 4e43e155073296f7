/* common/sqlite_pages/page_key.c - check and compare records that are read */
#include "sqlite_pages/page_private.h"

#include <endian.h>

bool page_key_is_sound (const struct page_key *k)
{
    const uint8_t *p = k->bytes, *end = p + k->size;
    uint64_t head = 0, type, sum = 0;
    uint32_t n = varint_get (p, end, &head);

    if (n == 0 || head > k->size || head < n)
        return false;
    end = p + head;
    p += n;
    // nearly all types have one byte
    for (; p < end && *p < 0x80 && *p >> 1 != 5; p++)
        sum += serial_bytes (*p);
    for (; p < end; p += n) {
        if ((n = varint_get (p, end, &type)) == 0 || type >> 1 == 5)
            return false;       // 10 and 11 are no types
        sum += serial_bytes (type);
    }
    return sum == k->size - head;
}

bool page_key_is_alike (const struct page_key *a, const struct page_key *b)
{
    return a->size == b->size && a->bytes[0] < 0x80 &&
           memcmp (a->bytes, b->bytes, a->bytes[0]) == 0;
}

/* So many bytes are equal, or more. */
static size_t equal_bytes (const uint8_t *a, const uint8_t *b, size_t n)
{
    size_t i = 0;

    while (i + sizeof (uint64_t) <= n && memcmp (a + i, b + i,
                                                 sizeof (uint64_t)) == 0)
        i += sizeof (uint64_t);
    return i;
}

/* The n bytes of a number; PAGE_KEY_SLACK bytes behind it can be read. */
static inline int64_t number_at (const uint8_t *p, uint32_t n)
{
    uint64_t big;

    memcpy (&big, p, sizeof (big));
    return (int64_t)be64toh (big) >> (64 - 8 * n);
}

/* An integer, or a real's bits. */
static int64_t number_of (const uint8_t *p, uint64_t type)
{
    uint32_t n = serial_bytes (type);

    return n == 0 ? (int64_t)type - SERIAL_ZERO : number_at (p, n);
}

/* Compare exactly, as SQLite does, without converting the integer to a double.
 */
static int compare_mixed (int64_t i, double d)
{
    if (d < -0x1p63 || d >= 0x1p63)
        return d < 0 ? 1 : -1;
    if (i != (int64_t)d)
        return i < (int64_t)d ? -1 : 1;
    return ((double)(int64_t)d > d) - ((double)(int64_t)d < d);
}

static int compare_numbers (const uint8_t *pa, uint64_t ta, const uint8_t *pb,
                            uint64_t tb)
{
    int64_t a = number_of (pa, ta), b = number_of (pb, tb);
    double ra, rb;

    if (ta != SERIAL_REAL && tb != SERIAL_REAL)
        return (a > b) - (a < b);
    memcpy (&ra, &a, sizeof (ra));
    memcpy (&rb, &b, sizeof (rb));
    if (ta == SERIAL_REAL && tb == SERIAL_REAL)
        return (ra > rb) - (ra < rb);
    if (tb == SERIAL_REAL)
        return compare_mixed (a, rb);
    return -compare_mixed (b, ra);
}

/* NULL, numbers, texts, blobs. */
static int class_of (uint64_t type)
{
    return type == SERIAL_NULL ? 0 : type < SERIAL_BLOB ? 1 : type & 1 ? 2 : 3;
}

static int compare_values (const uint8_t *a, uint64_t ta, const uint8_t *b,
                           uint64_t tb)
{
    uint32_t na = serial_bytes (ta), nb = serial_bytes (tb);
    int order = class_of (ta) - class_of (tb);

    if (order || ta == SERIAL_NULL)
        return order;
    if (ta < SERIAL_BLOB)
        return compare_numbers (a, ta, b, tb);
    order = memcmp (a, b, na < nb ? na : nb);
    return order ? order : (na > nb) - (na < nb);
}

static bool is_integer (uint64_t type)
{
    return type - SERIAL_INT1 <= SERIAL_INT8 - SERIAL_INT1;
}

/* Compare records with the same header, whose sizes are single bytes. */
static int compare_alike (const struct page_key *a, const struct page_key *b)
{
    const uint8_t *va = a->bytes + a->bytes[0], *vb = b->bytes + b->bytes[0];
    const uint8_t *equal = va + equal_bytes (va, vb, a->size - a->bytes[0]);
    int order = 0;

    for (const uint8_t *p = a->bytes + 1, *end = a->bytes + a->bytes[0];
         p < end && order == 0;) {
        uint64_t type = 0;
        uint32_t n;
        bool same;

        p += varint_get (p, end, &type);
        n = serial_bytes (type);
        same = va + n <= equal;
        if (!same && is_integer (type)) {
            int64_t x = number_at (va, n), y = number_at (vb, n);

            order = (x > y) - (x < y);
        } else if (!same) {
            order = compare_values (va, type, vb, type);
        }
        va += n;
        vb += n;
    }
    return order;
}

int page_key_compare (const struct page_key *a, const struct page_key *b)
{
    const uint8_t *pa = a->bytes, *pb = b->bytes, *va, *vb, *ha, *hb;
    uint64_t ta = 0, tb = 0;
    int order = 0;

    if (page_key_is_alike (a, b))
        return compare_alike (a, b);
    pa += varint_get (pa, pa + a->size, &ta);
    pb += varint_get (pb, pb + b->size, &tb);
    va = ha = a->bytes + ta;
    vb = hb = b->bytes + tb;
    while (order == 0 && pa < ha && pb < hb) {
        pa += varint_get (pa, ha, &ta);
        pb += varint_get (pb, hb, &tb);
        order = compare_values (va, ta, vb, tb);
        va += serial_bytes (ta);
        vb += serial_bytes (tb);
    }
    return order ? order : (pa < ha) - (pb < hb);
}
