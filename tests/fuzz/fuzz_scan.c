/* tests/fuzz/fuzz_scan.c - the scanner against cJSON
 *
 * Whatever the scanner accepts, cJSON must accept, with the same structure,
 * keys, strings (invalid UTF-8 replaced) and numbers, bit by bit; and the
 * scanner must say the same whatever the size of reads, wherever its buffer
 * ends, and whether it keeps or skips what it reads.  abort() otherwise.
 *
 * Input: byte 0: bits 0-2 the size of reads, bit 3 members by scan_field,
 * bit 4 runs (below), bits 5-7 where the buffer ends, together with byte 1.
 * The rest is the document; with bit 4 the bytes 01 c n stand for a run of
 * c, so that a small input can be longer than what the scanner looks ahead.
 */
#include "base/utf8.h"
#include "json/scan.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#define DOC_MAX 200000u         // bytes, runs included
#define RUN_LEAST 4000u

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define REQUIRE(cond) \
    do { \
        if (!(cond)) { \
            fprintf (stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, \
                     #cond); \
            abort (); \
        } \
    } while (0)

/* ---- a source of bytes: '["xxx...",' and the document ---- */

struct source {
    const char *doc;
    size_t size;
    size_t prefix;              // 0: none
    size_t chunk;
    size_t at;
};

static ssize_t source_read (void *arg, void *buf, size_t n)
{
    struct source *src = arg;

    REQUIRE (n > 0);
    if (src->at < src->prefix) {
        if (n > src->prefix - src->at)
            n = src->prefix - src->at;
        memset (buf, 'x', n);
        for (size_t i = 0; i < 4; i++) {
            size_t place = i < 2 ? i : src->prefix - 4 + i;

            if (place >= src->at && place < src->at + n)
                ((char *)buf)[place - src->at] = "[\"\","[i];
        }
    } else {
        if (n > src->chunk)
            n = src->chunk;
        if (src->at == src->prefix + src->size)
            memset (buf, 'S', n);       // nothing stale may pass for input
        if (n > src->prefix + src->size - src->at)
            n = src->prefix + src->size - src->at;
        memcpy (buf, src->doc + (src->at - src->prefix), n);
    }
    src->at += n;
    return (ssize_t)n;
}

/* ---- the walk, with cJSON's tree beside it ---- */

struct walk {
    struct scan s;
    bool by_field;
    bool differs;               // from the tree, as far as there is one
    uint64_t hash;              // of all that was handed out
};

static void hash_bytes (struct walk *w, const void *data, size_t n)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < n; i++)
        w->hash = (w->hash ^ p[i]) * UINT64_C (0x100000001b3);
    w->hash = (w->hash ^ 0xff00 ^ n) * UINT64_C (0x100000001b3);
}

/* The text is valid UTF-8, and cJSON's with replacements. */
static void same_text (struct walk *w, const char *text, size_t n,
                       const char *theirs)
{
    size_t size, used;
    uint64_t bad = 0;
    char *repaired;

    hash_bytes (w, text, n);
    repaired = malloc (n + 1);
    REQUIRE (repaired);
    memcpy (repaired, text, n);
    repaired[n] = '\0';
    for (size_t i = 0; i < n; i += size) {
        size = utf8_size (repaired + i);
        REQUIRE (size > 0 && text[i] != '\0');
    }
    free (repaired);
    if (!theirs) {
        w->differs = true;
        return;
    }
    size = strlen (theirs);
    repaired = malloc (3 * size + 1);
    REQUIRE (repaired);
    used = utf8_repair (theirs, size, repaired, &bad);
    if (used != n || memcmp (repaired, text, n) != 0)
        w->differs = true;
    free (repaired);
}

static const cJSON *expect (struct walk *w, const cJSON *j, int type)
{
    if (!j || (j->type & 0xff) != type) {
        w->differs = true;
        return NULL;
    }
    return j;
}

static void walk_value (struct walk *w, const cJSON *j);

static const struct predicted_key fields[] = {
    SCAN_FIELD ("a"), SCAN_FIELD ("b"), SCAN_FIELD ("ab"), SCAN_FIELD (""),
    SCAN_FIELD ("Transit Size(MB)"), SCAN_FIELD ("\xc3\xa9"),
};

static bool next_member (struct walk *w, bool *first, int *next,
                         const cJSON *child)
{
    const char *key;
    size_t n;

    if (w->by_field) {
        int i = scan_field (&w->s, first, fields,
                            sizeof (fields) / sizeof (fields[0]), next);

        if (i == SCAN_DONE)
            return false;
        key = i == SCAN_OTHER ? w->s.key : fields[i].key;
        n = i == SCAN_OTHER ? w->s.key_size : fields[i].size;
    } else {
        if (!scan_member (&w->s, first))
            return false;
        key = w->s.key;
        n = w->s.key_size;
    }
    same_text (w, key, n, child ? child->string : NULL);
    return true;
}

static void walk_container (struct walk *w, const cJSON *j, bool object)
{
    const cJSON *child;
    bool first = true;
    int next = 0;

    j = expect (w, j, object ? cJSON_Object : cJSON_Array);
    child = j ? j->child : NULL;
    hash_bytes (w, object ? "{" : "[", 1);
    if (object ? !scan_object (&w->s) : !scan_array (&w->s))
        return;
    while (object ? next_member (w, &first, &next, child)
                  : scan_element (&w->s, &first)) {
        walk_value (w, child);
        child = child ? child->next : NULL;
    }
    hash_bytes (w, "]", 1);
    if (child)
        w->differs = true;
}

static void walk_value (struct walk *w, const cJSON *j)
{
    char c = scan_peek (&w->s);
    const char *text;
    size_t n;
    double v;

    if (c == '{' || c == '[') {
        walk_container (w, j, c == '{');
    } else if (c == '"') {
        j = expect (w, j, cJSON_String);
        if (scan_text (&w->s, &text, &n))
            same_text (w, text, n, j ? j->valuestring : NULL);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        j = expect (w, j, cJSON_Number);
        if (scan_real (&w->s, &v)) {
            hash_bytes (w, &v, sizeof (v));
            if (j && memcmp (&v, &j->valuedouble, sizeof (v)) != 0)
                w->differs = true;
        }
    } else if (c == 'n') {
        (void)expect (w, j, cJSON_NULL);
        (void)scan_null (&w->s);
    } else {
        (void)expect (w, j, c == 't' ? cJSON_True : cJSON_False);
        (void)scan_skip (&w->s);
    }
}

/* ---- one reading ---- */

struct result {
    bool accepted;
    bool differs;
    uint64_t hash;              // of a walk
    uint64_t bad_utf8;
    uint64_t at;                // of the error, from the document's start
    char error[ERR_TEXT_MAX];   // without its offset
};

static struct result read_doc (struct source src, const cJSON *tree,
                               bool by_field, bool skip)
{
    struct walk w = { .by_field = by_field };
    struct result r = { .accepted = false };
    bool first = true;

    REQUIRE (scan_init (&w.s, source_read, &src) == 0);
    if (src.prefix > 0)
        REQUIRE (scan_array (&w.s) && scan_element (&w.s, &first) &&
                 scan_skip (&w.s) && scan_element (&w.s, &first));
    w.s.depth = 0;              // the prefix's list does not count
    if (skip)
        (void)scan_skip (&w.s);
    else
        walk_value (&w, tree);
    r.accepted = scan_end (&w.s);
    REQUIRE (r.accepted == !w.s.failed);
    REQUIRE (scan_offset (&w.s) <= src.prefix + src.size);
    r.differs = w.differs;
    r.hash = w.hash;
    r.bad_utf8 = w.s.bad_utf8;
    if (!r.accepted) {
        unsigned long long at = 0;
        int n = 0;

        REQUIRE (sscanf (w.s.err.text, "byte %llu: %n", &at, &n) == 1 && n);
        REQUIRE (at >= src.prefix && at <= src.prefix + src.size);
        r.at = at - src.prefix;
        (void)snprintf (r.error, sizeof (r.error), "%s", w.s.err.text + n);
    } else {
        REQUIRE (w.s.depth == 0);
    }
    scan_fini (&w.s);
    return r;
}

static void require_same (const struct result *a, const struct result *b)
{
    REQUIRE (a->accepted == b->accepted);
    REQUIRE (a->at == b->at);
    REQUIRE (strcmp (a->error, b->error) == 0);
}

/* The document with its runs written out. */
static char *expand (const uint8_t *data, size_t size, bool runs,
                     size_t *ret_size)
{
    char *doc = malloc (runs ? DOC_MAX : size + 1);
    size_t used = 0;

    REQUIRE (doc);
    for (size_t i = 0; i < size; i++) {
        size_t n = 1;

        if (runs && data[i] == 1 && i + 2 < size) {
            n = RUN_LEAST + data[i + 2];
            i++;
        }
        if (runs && n > DOC_MAX - used)
            break;
        memset (doc + used, data[i], n);
        used += n;
        i += n > 1;
    }
    *ret_size = used;
    if ((doc = realloc (doc, used ? used : 1)))     // for the sanitizer
        return doc;
    abort ();
}

static void check_doc (const char *doc, size_t size, const uint8_t *how)
{
    static const size_t chunks[] = { 1, 2, 3, 7, 64, 4095, 4096, 1 << 20 };
    size_t ends = (size_t)(how[0] >> 5) * 1000 + how[1];
    const char *end = doc;
    cJSON *tree = cJSON_ParseWithLengthOpts (doc, size, &end, 0);
    struct source plain = { doc, size, 0, 1 << 20, 0 };
    struct source odd = { doc, size, SCAN_BUFFER - ends, chunks[how[0] & 7],
                          0 };
    struct result a = read_doc (plain, tree, (how[0] & 8) != 0, false), b;

    if (a.accepted) {
        REQUIRE (tree);
        REQUIRE (!a.differs);
        for (; end < doc + size; end++)
            REQUIRE (strchr (" \t\r\n", *end) && *end);
    }
    cJSON_Delete (tree);
    b = read_doc (odd, NULL, (how[0] & 8) == 0, false);
    require_same (&a, &b);
    REQUIRE (a.hash == b.hash || !a.accepted);
    REQUIRE (a.bad_utf8 == b.bad_utf8);
    b = read_doc (odd, NULL, false, true);
    if (strncmp (a.error, "a string is longer", 18) != 0)  // no limit there
        require_same (&a, &b);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    size_t n;
    char *doc;

    if (size < 2)
        return 0;
    doc = expand (data + 2, size - 2, (data[0] & 16) != 0, &n);
    check_doc (doc, n, data);
    free (doc);
    return 0;
}
