/* common/sqlite_pages/page_format.h - SQLite's file format: numbers and bytes
 *
 * What is cited is https://www.sqlite.org/fileformat2.html; all numbers of more
 * than one byte are big-endian.
 */
#ifndef ROLLCALL_SQLITE_PAGES_PAGE_FORMAT_H
#define ROLLCALL_SQLITE_PAGES_PAGE_FORMAT_H

#include <stdint.h>

/* ---- 1.3, "The Database Header": of page 1 ---- */

#define HEADER_BYTES 100u       // before the page's own header
#define HEADER_MAGIC "SQLite format 3"  // and its NUL
#define HEADER_PAGE_SIZE 16     // 2 bytes; 1 is 65536
#define HEADER_WRITE_VERSION 18 // 1: a rollback journal; 2: WAL
#define HEADER_RESERVED 20      // bytes at each page's end
#define HEADER_CHANGES 24
#define HEADER_PAGE_COUNT 28
#define HEADER_FREE_FIRST 32    // trunk page of the freelist, or 0
#define HEADER_FREE_COUNT 36    // pages, trunks among them
#define HEADER_SCHEMA_FORMAT 44 // 4: integers 0 and 1 take no byte
#define HEADER_AUTO_VACUUM 52   // not 0: there are pointer map pages
#define HEADER_ENCODING 56      // 1: UTF-8
#define HEADER_USER_VERSION 60  // PRAGMA user_version
#define HEADER_INCREMENTAL 64   // of auto_vacuum
#define HEADER_VALID_FOR 92     // the page count is valid for these changes

#define PAGE_COUNT_MAX 1073741823u      // SQLite's own limit, unless told

/* ---- 1.4, "The Lock-Byte Page": never used ---- */

#define LOCK_BYTE 0x40000000u

static inline uint32_t lock_page (uint32_t page_size)
{
    return LOCK_BYTE / page_size + 1;
}

/* ---- 1.5, "The Freelist": next trunk, number of pages, their numbers ---- */

#define TRUNK_PAGES(usable) ((usable) / 4 - 8)  // of old versions; now 6 more
#define TRUNK_PAGES_MAX(usable) ((usable) / 4 - 2)

/* ---- 1.6, "B-tree Pages": a header, pointers of cells, room, cells ---- */

enum page_type {
    INDEX_INTERIOR = 0x02,
    TABLE_INTERIOR = 0x05,
    INDEX_LEAF = 0x0a,
    TABLE_LEAF = 0x0d,
};

#define AT_FREEBLOCK 1          // first free block, or 0: next, bytes of it
#define AT_CELLS 3              // number of cells
#define AT_CONTENT 5            // where cells begin; 0 is 65536
#define AT_FRAGMENTS 7          // free bytes that are in no block
#define AT_RIGHT 8              // the last child, of interior pages
#define LEAF_HEADER 8u
#define INTERIOR_HEADER 12u
#define CELL_LEAST 4u           // bytes: so much a cell takes at least

/* How much of a payload is in the page, "the amount of payload that spills":
 * the rest is in overflow pages (1.7), each with the number of the next first.
 */
static inline uint32_t payload_most (uint32_t usable, int table_leaf)
{
    return table_leaf ? usable - 35 : (usable - 12) * 64 / 255 - 23;
}

static inline uint32_t payload_local (uint32_t usable, int table_leaf,
                                      uint64_t size)
{
    uint32_t most = payload_most (usable, table_leaf);
    uint32_t least = (usable - 12) * 32 / 255 - 23, k;

    if (size <= most)
        return (uint32_t)size;
    k = least + (uint32_t)((size - least) % (usable - 4));
    return k <= most ? k : least;
}

/* ---- 2.1, "Record Format": types of values ---- */

enum serial_type {
    SERIAL_NULL, SERIAL_INT1, SERIAL_INT2, SERIAL_INT3, SERIAL_INT4,
    SERIAL_INT6, SERIAL_INT8, SERIAL_REAL, SERIAL_ZERO, SERIAL_ONE,
    SERIAL_BLOB = 12,           // + 2 * bytes
    SERIAL_TEXT = 13,           // + 2 * bytes
};

#define PAYLOAD_MAX 1000000000u // SQLITE_MAX_LENGTH

/* The bytes of a value, by its type; most types are in the table. */
static inline uint32_t serial_bytes (uint64_t type)
{
#define TWO(n) (n), (n)
#define TEN(n) TWO (n), TWO (n + 1), TWO (n + 2), TWO (n + 3), TWO (n + 4)
    static const uint8_t bytes[128] = {
        0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0, TEN (0), TEN (5), TEN (10),
        TEN (15), TEN (20), TEN (25), TEN (30), TEN (35), TEN (40), TEN (45),
        TEN (50), TWO (55), TWO (56), TWO (57),
    };
#undef TEN
#undef TWO

    return type < sizeof (bytes) ? bytes[type]
                                 : (uint32_t)((type - SERIAL_BLOB) / 2);
}

/* ---- numbers ---- */

static inline uint32_t get2 (const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static inline void put2 (uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static inline uint32_t get4 (const uint8_t *p)
{
    return get2 (p) << 16 | get2 (p + 2);
}

static inline void put4 (uint8_t *p, uint32_t v)
{
    put2 (p, v >> 16);
    put2 (p + 2, v);
}

/* 1.6, "A variable-length integer": seven bits a byte, eight in the ninth. */
#define VARINT_MAX 9u

static inline uint32_t varint_bytes (uint64_t v)
{
    uint32_t bits = 64 - (uint32_t)__builtin_clzll (v | 1);

    return bits > 56 ? VARINT_MAX : (bits + 6) / 7;
}

static inline uint32_t varint_put (uint8_t *p, uint64_t v)
{
    uint32_t n = 1, i;

    if (v < 0x80) {             // as most are
        p[0] = (uint8_t)v;
        return n;
    }
    i = n = varint_bytes (v);
    if (n == VARINT_MAX) {
        p[--i] = (uint8_t)v;
        v >>= 8;
    }
    while (i > 0) {
        p[--i] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    if (n < VARINT_MAX)
        p[n - 1] &= 0x7f;
    return n;
}

/* Its bytes; 0 if it does not end before 'end'. */
static inline uint32_t varint_get (const uint8_t *p, const uint8_t *end,
                                   uint64_t *ret)
{
    uint32_t n = 0;

    if (p < end && *p < 0x80) { // as most are
        *ret = *p;
        return 1;
    }
    *ret = 0;
    while (p + n < end) {
        uint8_t byte = p[n++];

        if (n == VARINT_MAX) {
            *ret = *ret << 8 | byte;
            return n;
        }
        *ret = *ret << 7 | (byte & 0x7f);
        if (byte < 0x80)
            return n;
    }
    return 0;
}

#endif
