/* aggregator/findings/finding_links.c - what each link moved, and what it should
 * need for that
 */
#include "findings/finding_passes.h"

#include "base/stats.h"
#include "store/db_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_MEMORY "no memory for links"
#define LINKS_MIN 4u            // of which a median is formed

// Columns of Link by position.
enum { LINK_STEP, LINK_GROUP, LINK_SRC, LINK_DST, LINK_TRANSPORT, LINK_TYPE_OF,
       LINK_SIZE, LINK_TIME };

// In the order of their names; RDMA is known.
static const char *const transports[] = { "HCCS", "PCIE", "RDMA", "SIO" };

enum { RDMA = 2, TRANSPORTS = 4 };

// What ranks moved in groups of one kind.
struct use {
    uint32_t src, dst;          // ranks
    uint32_t transport, kind;   // kind as in finding_group; with ranks the key
    double mb, ms;
    bool same;                  // host
};

struct host_of {
    int64_t rank;               // the key
    uint32_t host;
};

// A median bandwidth, of a kind or (ANY_KIND) of all.
struct base {
    uint32_t transport, same;
    uint64_t kind;              // with these the key
    double bw;
};

#define ANY_KIND UINT64_MAX

struct links {
    const struct finding_input *in;
    struct map uses, hosts, bases;
    struct texts names;         // of hosts
    double *bws;                // of one median
};

/* ---- reading ---- */

static uint32_t transport_of (const struct page_scan *row)
{
    size_t n;
    const char *text = page_scan_text (row, LINK_TRANSPORT, &n);
    uint32_t i = 0;

    while (text && i < TRANSPORTS &&
           (strlen (transports[i]) != n || memcmp (transports[i], text, n)))
        i++;
    return text ? i : TRANSPORTS;
}

static int take_use (void *arg, const struct page_scan *row, struct err *err)
{
    struct links *l = arg;
    const struct finding_group *g = finding_group_of (l->in, row, LINK_GROUP);
    double mb = page_scan_real (row, LINK_SIZE);
    double ms = page_scan_real (row, LINK_TIME);
    struct use key = { (uint32_t)page_scan_int (row, LINK_SRC, -1),
                       (uint32_t)page_scan_int (row, LINK_DST, -1),
                       transport_of (row), g ? g->kind : FINDING_NO_KIND, 0, 0,
                       false }, *at;
    bool is_new;

    // of less than a MB the time is latency
    if (!(mb >= 1 && ms > 0) || key.transport == TRANSPORTS ||
        finding_left_out (l->in, row, LINK_STEP, LINK_SRC))
        return 0;
    if (!(at = map_put (&l->uses, &key, &is_new)))
        return err_set (err, ENOMEM, NO_MEMORY);
    at->mb += mb;
    at->ms += ms;
    return 0;
}

static int read_links (const struct finding_input *in, void **ret,
                       struct err *err)
{
    struct links *l = *ret = calloc (1, sizeof (*l));

    if (!l)
        return err_set (err, ENOMEM, NO_MEMORY);
    *l = (struct links){ in, MAP (struct use, 2), MAP (struct host_of, 1),
                         MAP (struct base, 2), { .used = 0 }, NULL };
    return finding_scan (in, "Link", take_use, l, err);
}

/* ---- medians ---- */

static int read_hosts (struct links *l, struct err *err)
{
    struct db_rows r = db_rows (l->in->db, err, "SELECT rank, host FROM f_rank"
                                                " WHERE host IS NOT NULL");
    struct host_of key = { 0, 0 }, *at;
    const char *name;
    bool is_new;

    while (db_row (&r, key.rank, name)) {
        at = map_put (&l->hosts, &key, &is_new);
        if (!at || (at->host = texts_intern (&l->names, name,
                                             strlen (name))) == TEXTS_NONE)
            r.rc = err_set (err, ENOMEM, NO_MEMORY);
    }
    return db_end (&r);
}

static uint32_t host_of (const struct links *l, uint32_t rank)
{
    int64_t key = rank;
    const struct host_of *at = map_get (&l->hosts, &key);

    return at ? at->host : TEXTS_NONE;
}

/* Where a host is not known, the transport shows it. */
static bool is_same (const struct links *l, const struct use *u)
{
    uint32_t src = host_of (l, u->src), dst = host_of (l, u->dst);

    return src == TEXTS_NONE || dst == TEXTS_NONE ? u->transport != RDMA
                                                  : src == dst;
}

#define ORDER(x, y) \
    do { \
        if ((x) != (y)) \
            return (x) < (y) ? -1 : 1; \
    } while (0)

static int by_kind (const void *pa, const void *pb)
{
    const struct use *a = pa, *b = pb;

    ORDER (a->transport, b->transport);
    ORDER (a->same, b->same);
    ORDER (a->kind, b->kind);
    return 0;
}

static int by_ranks (const void *pa, const void *pb)
{
    const struct use *a = pa, *b = pb;

    ORDER (a->src, b->src);
    ORDER (a->dst, b->dst);
    ORDER (a->transport, b->transport);
    ORDER (a->kind, b->kind);
    return 0;
}

static int add_base (struct links *l, const struct use *u, size_t n,
                     uint64_t kind, struct err *err)
{
    const struct base key = { u->transport, u->same, kind, 0 };
    struct base *at;
    bool is_new;

    if (n < LINKS_MIN)
        return 0;
    if (!(at = map_put (&l->bases, &key, &is_new)))
        return err_set (err, ENOMEM, NO_MEMORY);
    for (size_t i = 0; i < n; i++)
        l->bws[i] = u[i].mb / u[i].ms;
    at->bw = stats_median (l->bws, n);
    return 0;
}

/* Within hosts or between them, of each transport; and of each kind of group,
 * since others have packets of other sizes.
 */
static int find_bases (struct links *l, struct err *err)
{
    struct use *u = l->uses.records;
    size_t n = l->uses.n, all = 0, kind = 0;
    int rc = 0;

    if (!(l->bws = malloc ((n + 1) * sizeof (*l->bws))))
        return err_set (err, ENOMEM, NO_MEMORY);
    for (size_t i = 0; i < n; i++)
        u[i].same = is_same (l, &u[i]);
    if (n > 0)
        qsort (u, n, sizeof (*u), by_kind);
    for (size_t i = 1; i <= n && rc == 0; i++) {
        bool ends = i == n || u[i].transport != u[all].transport ||
                    u[i].same != u[all].same;

        if (ends || u[i].kind != u[kind].kind) {
            rc = add_base (l, &u[kind], i - kind, u[kind].kind, err);
            kind = i;
        }
        if (ends && rc == 0) {
            rc = add_base (l, &u[all], i - all, ANY_KIND, err);
            all = i;
        }
    }
    return rc;
}

/* ---- writing ---- */

static const struct base *base_of (const struct links *l, const struct use *u,
                                   uint64_t kind)
{
    return map_get (&l->bases, &(struct base){ u->transport, u->same, kind,
                                               0 });
}

static int write_bases (const struct links *l, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_exec (l->in->db,
        "CREATE TEMP TABLE f_use_base (transport, same, kind, base);"
        "CREATE TEMP TABLE f_link (src INTEGER, dst INTEGER, src_host, dst_host,"
        " same, transport, mb REAL, ms REAL, want REAL)", err);

    if (rc == 0)
        rc = db_prepare (l->in->db, "INSERT INTO f_use_base VALUES (?1, ?2, ?3,"
                                    " ?4)", &st, err);
    for (uint32_t i = 0; i < l->bases.n && rc == 0; i++) {
        const struct base *b = map_at (&l->bases, i);

        if (b->kind != ANY_KIND)
            rc = db_put (st, err, transports[b->transport], b->same,
                         texts_at (&l->in->kinds, (uint32_t)b->kind), b->bw);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

static const char *host_name (const struct links *l, uint32_t rank)
{
    uint32_t host = host_of (l, rank);

    return host == TEXTS_NONE ? NULL : texts_at (&l->names, host);
}

/* Write the link of two ranks, whose uses are u[0] to u[n - 1]. */
static int write_link (const struct links *l, sqlite3_stmt *st,
                       const struct use *u, size_t n, struct err *err)
{
    double mb = 0, ms = 0, want = 0;
    char names[64] = "";
    bool known = false;

    for (size_t i = 0; i < n; i++) {
        const struct base *any = base_of (l, &u[i], ANY_KIND);
        const struct base *own = base_of (l, &u[i], u[i].kind);
        const char *name = transports[u[i].transport];

        if (!any)
            continue;
        known = true;
        mb += u[i].mb;
        ms += u[i].ms;
        want += u[i].mb / (own ? own->bw : any->bw);
        if (!strstr (names, name))
            (void)strcat (strcat (names, *names ? "," : ""), name);
    }
    return !known ? 0 : db_put (st, err, u->src, u->dst,
                                host_name (l, u->src), host_name (l, u->dst),
                                u->same, names, mb, ms, want);
}

static int write_links (const struct finding_input *in, void *state,
                        struct err *err)
{
    struct links *l = state;
    const struct use *u = l->uses.records;
    size_t n = l->uses.n;
    sqlite3_stmt *st = NULL;
    int rc = read_hosts (l, err);

    if (rc == 0)
        rc = find_bases (l, err);
    if (rc == 0)
        rc = write_bases (l, err);
    if (rc == 0)
        rc = db_prepare (in->db, "INSERT INTO f_link VALUES (?1, ?2, ?3, ?4,"
                                 " ?5, ?6, ?7, ?8, ?9)", &st, err);
    if (n > 0)
        qsort (l->uses.records, n, sizeof (*u), by_ranks);
    for (size_t i = 0, end; i < n && rc == 0; i = end) {
        for (end = i + 1; end < n && u[end].src == u[i].src &&
                          u[end].dst == u[i].dst;)
            end++;
        rc = write_link (l, st, &u[i], end - i, err);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

static void destroy_links (void *state)
{
    struct links *l = state;

    if (!l)
        return;
    map_fini (&l->uses);
    map_fini (&l->hosts);
    map_fini (&l->bases);
    texts_fini (&l->names);
    free (l->bws);
    free (l);
}

const struct finding_pass finding_links = { read_links, write_links,
                                            destroy_links };
