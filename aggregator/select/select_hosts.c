/* aggregator/select/select_hosts.c - on which host a capture was made */
#include "select/select_hosts.h"

#include "base/map.h"
#include "base/texts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEC INT64_C (1000000000)        // ns
#define BOOT_STEP (10 * SEC)    // a clock may be set while the host is up
#define BOOT_SAME (SEC / 10)    // this alone identifies a host: two clocks are
                                // read one after the other, and the boots of
                                // hosts switched on together differ by more

/* ---- two captures ---- */

static int64_t apart (int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

static bool both_booted (const struct capture *a, const struct capture *b)
{
    return a->evidence.boot_ns > 0 && b->evidence.boot_ns > 0;
}

/* Whether the captures' own data shows two hosts. */
static bool contradict (const struct capture *a, const struct capture *b)
{
    const struct evidence *ea = &a->evidence, *eb = &b->evidence;

    return evidence_differ (a->host_uid, b->host_uid) ||
           evidence_differ (ea->host_name, eb->host_name) ||
           (both_booted (a, b) && apart (ea->boot_ns, eb->boot_ns) > BOOT_STEP);
}

/* Agents on two hosts read them, or the host was rebooted or its container
 * restarted: that changes the key.
 */
static bool other_key (const struct capture *a, const struct capture *b)
{
    return evidence_differ (a->evidence.host_key, b->evidence.host_key);
}

/* Whether the captures' own data is enough, so that the names of workers and
 * agents need not be compared.
 */
static bool is_one (const struct capture *a, const struct capture *b)
{
    return (*a->host_uid && *b->host_uid) ||
           (*a->evidence.host_name && *b->evidence.host_name) ||
           (both_booted (a, b) && !other_key (a, b) &&
            apart (a->evidence.boot_ns, b->evidence.boot_ns) <= BOOT_SAME);
}

static bool says_host (const struct select_item *item)
{
    return item->capture.host[0] && !item->host_is_agents;
}

static const char *host_in (const struct select_item *item, bool of_agent)
{
    return of_agent ? item->agent_host ? item->agent_host : ""
                    : item->capture.host;
}

bool select_other_host (const struct select_item *a,
                        const struct select_item *b)
{
    bool of_agent = !says_host (a) || !says_host (b);

    if (contradict (&a->capture, &b->capture))
        return true;
    if (is_one (&a->capture, &b->capture))
        return false;
    return other_key (&a->capture, &b->capture) ||
           evidence_differ (host_in (a, of_agent), host_in (b, of_agent));
}

static bool tells_host (const struct capture *c)
{
    return c->state != CAPTURE_FAILED && c->state != CAPTURE_SUPERSEDED;
}

/* Captures without times may overlap any other. */
static bool overlap (const struct capture *a, const struct capture *b)
{
    if (a->started_ns <= 0 || b->started_ns <= 0 || a->ended_ns <= 0 ||
        b->ended_ns <= 0)
        return true;
    return a->started_ns < b->ended_ns && b->started_ns < a->ended_ns;
}

/* ---- one rank ---- */

static bool is_clash (const struct select_item *a, const struct select_item *b)
{
    return tells_host (&a->capture) && tells_host (&b->capture) &&
           overlap (&a->capture, &b->capture) && select_other_host (a, b);
}

/* The name that was compared with the other's. */
static const char *name_of (const struct select_item *item,
                            const struct select_item *other)
{
    const char *name = host_in (item, !says_host (item) || !says_host (other));

    return *name ? name : "one that is not known";
}

/* The reason of each capture names its own host and another one. */
static void blame_two_hosts (struct select_item *item,
                             const struct select_item *const two[2])
{
    const struct select_item *own = is_clash (item, two[0]) ||
                                  is_clash (item, two[1]) ? item : two[0];
    const struct select_item *other = two[!is_clash (own, two[0])];
    const struct capture *c = &own->capture;

    capture_reason (&item->capture, "rank %lld came from two hosts: %s (%s) "
                    "and %s (%s)%s; neither is used", (long long)item->rank,
                    name_of (own, other), c->name, name_of (other, own),
                    other->capture.name,
                    contradict (c, &other->capture)
                        ? "" : ", by the names of directories or agents");
}

bool select_fail_two_hosts (struct select_item *items, size_t n)
{
    const struct select_item *two[2] = { NULL, NULL };

    for (size_t i = 0; i < n && !two[0]; i++) {
        for (size_t k = i + 1; k < n && !two[0]; k++) {
            if (is_clash (&items[i], &items[k])) {
                two[0] = &items[i];
                two[1] = &items[k];
            }
        }
    }
    if (!two[0])
        return false;
    for (size_t i = 0; i < n; i++) {
        items[i].drop = true;
        if (tells_host (&items[i].capture))
            blame_two_hosts (&items[i], two);
    }
    for (size_t i = 0; i < n; i++) {    // when it is no longer needed
        if (items[i].capture.state != CAPTURE_SUPERSEDED)
            items[i].capture.state = CAPTURE_FAILED;
    }
    return true;
}

/* ---- all of them ---- */

struct place {
    struct select_item *item;
    size_t host;                // index of its host
    size_t part;                // of a host that is several
    struct place *lower;        // of the same device
};

static const char *id_of (const struct capture *c)
{
    return *c->host_uid             ? c->host_uid
           : *c->evidence.host_name ? c->evidence.host_name
                                    : c->host;
}

static int by_id (const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;
    const struct capture *ca = &a->item->capture, *cb = &b->item->capture;
    int ids = strcmp (id_of (ca), id_of (cb));
    int64_t ba = ca->evidence.boot_ns, bb = cb->evidence.boot_ns;

    if (ids)
        return ids;
    if (ba != bb)
        return ba < bb ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

static int by_boot (const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;
    int64_t ba = a->item->capture.evidence.boot_ns;
    int64_t bb = b->item->capture.evidence.boot_ns;

    if (ba != bb)
        return ba < bb ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

static int by_host (const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;

    if (a->host != b->host)
        return a->host < b->host ? -1 : 1;
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

/* Tell hosts with one id or name apart by their boot times. */
static size_t find_hosts (struct place *p, size_t n)
{
    size_t hosts = 0;

    qsort (p, n, sizeof (*p), by_id);
    for (size_t i = 0; i < n; i++) {
        const struct capture *c = &p[i].item->capture;
        const struct capture *before = i > 0 ? &p[i - 1].item->capture : c;
        bool same = i > 0 && strcmp (id_of (before), id_of (c)) == 0 &&
                    !contradict (before, c) &&
                    (both_booted (before, c) || !other_key (before, c));

        hosts += !same;
        p[i].host = hosts - 1;
    }
    return hosts;
}

/* The host that a host was joined with, and so on; shortens the way there. */
static size_t host_of (size_t *joined, size_t host)
{
    while (joined[host] != host)
        host = joined[host] = joined[joined[host]];
    return host;
}

/* Users choose the names of workers freely; captures with one boot time are of
 * one host, whatever their names.
 */
static int join_hosts (struct place *p, size_t n, size_t hosts)
{
    size_t *joined = calloc (hosts + 1, sizeof (*joined));

    if (!joined)
        return -ENOMEM;
    for (size_t i = 0; i < hosts; i++)
        joined[i] = i;
    qsort (p, n, sizeof (*p), by_boot);
    for (size_t i = 1; i < n; i++) {
        const struct capture *a = &p[i - 1].item->capture;
        const struct capture *b = &p[i].item->capture;
        size_t from = host_of (joined, p[i].host);
        size_t to = host_of (joined, p[i - 1].host);

        if (from == to || !both_booted (a, b) || contradict (a, b) ||
            other_key (a, b) ||
            apart (a->evidence.boot_ns, b->evidence.boot_ns) > BOOT_SAME)
            continue;
        joined[from] = to;
    }
    for (size_t i = 0; i < n; i++)
        p[i].host = host_of (joined, p[i].host);
    free (joined);
    return 0;
}

/* The captures of a device that were given a part, the highest part first. */
struct device {
    int64_t id;
    struct place *top;
};

/* Put it behind those with a higher part: mostly there is none. */
static void add_to_device (struct device *d, struct place *p)
{
    struct place **at = &d->top;

    while (*at && (*at)->part > p->part)
        at = &(*at)->lower;
    p->lower = *at;
    *at = p;
}

/* The lowest part in which no other rank has the device at the same time, nor
 * has it in a higher one.
 */
static size_t free_part (const struct device *d, const struct place *p)
{
    const struct place *q = d->top;

    while (q && (q->item->rank == p->item->rank ||
                 !overlap (&q->item->capture, &p->item->capture)))
        q = q->lower;
    return q ? q->part + 1 : 0;
}

/* One rank at a time uses a device.  If several ranks have the same one, there
 * are that many hosts (containers, "localhost").  If all ranks have the same
 * device, it is a logical number, since each process sees only its own.
 */
static int split_host (struct place *p, size_t n)
{
    struct map devices = MAP (struct device, 1);
    bool several = false, is_new;
    size_t least = 0;           // where earlier captures of its rank are
    int rc = 0;

    for (size_t i = 1; i < n && !several; i++)
        several = p[i].item->capture.device_id !=
                  p[0].item->capture.device_id;
    for (size_t i = 0; i < n && several && rc == 0; i++) {
        int64_t id = p[i].item->capture.device_id;
        struct device *d;

        if (i > 0 && p[i - 1].item->rank != p[i].item->rank)
            least = 0;
        if (id < 0)
            continue;
        if (!(d = map_put (&devices, &id, &is_new))) {
            rc = -ENOMEM;
            break;
        }
        p[i].part = free_part (d, &p[i]);
        least = p[i].part = p[i].part > least ? p[i].part : least;
        add_to_device (d, &p[i]);
    }
    map_fini (&devices);
    return rc;
}

/* The host's own name, or that of its only worker, or of one of its workers. */
static int name_host (const struct place *p, size_t n,
                      char out[CAPTURE_NAME_MAX])
{
    struct texts names = { .bytes = NULL };
    size_t others = 0;
    int rc = 0;

    out[0] = '\0';
    for (size_t i = 0; i < n && !*out; i++)
        (void)snprintf (out, CAPTURE_NAME_MAX, "%s",
                        p[i].item->capture.evidence.host_name);
    if (*out)
        return 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        const char *host = p[i].item->capture.host;

        if (*host && texts_intern (&names, host, strlen (host)) == TEXTS_NONE)
            rc = -ENOMEM;
    }
    if (names.map.n > 0)
        (void)snprintf (out, CAPTURE_NAME_MAX, "%s", texts_at (&names, 0));
    others = names.map.n > 1 ? names.map.n - 1 : 0;
    texts_fini (&names);
    if (others > 0) {
        char first[CAPTURE_NAME_MAX - 32];

        (void)snprintf (first, sizeof (first), "%s", out);
        (void)snprintf (out, CAPTURE_NAME_MAX, "%s and %zu more", first,
                        others);
    }
    return rc;
}

struct host_name {
    char name[CAPTURE_NAME_MAX];
    size_t first, end;          // places
    int64_t rank;               // the lowest
    size_t number;              // among those of this name, 0: it is the only
};

static int by_name (const void *pa, const void *pb)
{
    const struct host_name *a = pa, *b = pb;
    int names = strcmp (a->name, b->name);

    return names ? names : (a->rank > b->rank) - (a->rank < b->rank);
}

static void give_names (struct place *p, struct host_name *h, size_t n)
{
    qsort (h, n, sizeof (*h), by_name);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && strcmp (h[end].name, h[i].name) == 0;)
            end++;
        for (size_t k = i; k < end && end > i + 1; k++)
            h[k].number = k - i + 1;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = h[i].first; k < h[i].end && h[i].name[0]; k++) {
            char *out = p[k].item->capture.host;

            if (h[i].number > 0)
                (void)snprintf (out, CAPTURE_NAME_MAX, "%.200s (%zu)",
                                h[i].name, h[i].number);
            else
                (void)snprintf (out, CAPTURE_NAME_MAX, "%s", h[i].name);
        }
    }
}

/* 'p' is sorted by host. */
static int name_all (struct place *p, size_t n)
{
    struct host_name *h = calloc (n + 1, sizeof (*h));
    size_t hosts = 0;
    int rc = h ? 0 : -ENOMEM;

    for (size_t i = 0, end; i < n && rc == 0; i = end) {
        for (end = i + 1; end < n && p[end].host == p[i].host &&
                          p[end].part == p[i].part;)
            end++;
        h[hosts] = (struct host_name){ .first = i, .end = end,
                                       .rank = p[i].item->rank };
        rc = name_host (p + i, end - i, h[hosts++].name);
    }
    if (rc == 0)
        give_names (p, h, hosts);
    free (h);
    return rc;
}

int select_name_hosts (struct select_item *items, size_t n)
{
    struct place *p = calloc (n + 1, sizeof (*p));
    size_t used = 0, hosts;
    int rc = p ? 0 : -ENOMEM;

    for (size_t i = 0; i < n && rc == 0; i++) {
        if (items[i].rank != CAPTURE_NO_RANK && !items[i].skip &&
            !items[i].drop && capture_has_rows (&items[i].capture))
            p[used++].item = &items[i];
    }
    if (used > 0) {
        hosts = find_hosts (p, used);
        rc = join_hosts (p, used, hosts);
        qsort (p, used, sizeof (*p), by_host);
    }
    for (size_t i = 0, end; i < used && rc == 0; i = end) {
        for (end = i + 1; end < used && p[end].host == p[i].host;)
            end++;
        rc = split_host (p + i, end - i);
    }
    if (used > 0 && rc == 0) {
        qsort (p, used, sizeof (*p), by_host);
        rc = name_all (p, used);
    }
    free (p);
    return rc;
}
