/* node_agent/disk/release.c - remove delivered captures */
#include "disk/release.h"

#include "base/counter.h"
#include "base/units.h"
#include "spool/manifest.h"
#include "spool/manifest_remove.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool release_parse (const char *text, struct release_policy *ret)
{
    static const char after[] = "after=";
    size_t n = sizeof (after) - 1;

    if (strncmp (text, after, n) == 0 &&
        units_duration_ns (text + n, &ret->after_ns) == 0)
        ret->kind = RELEASE_AFTER;
    else if (strcmp (text, "never") == 0)
        ret->kind = RELEASE_NEVER;
    else if (strcmp (text, "shipped") == 0)
        ret->kind = RELEASE_SHIPPED;
    else if (strcmp (text, "when-full") == 0)
        ret->kind = RELEASE_WHEN_FULL;
    else
        return false;
    return true;
}

bool release_concerns (const struct release_policy *p, const char *path)
{
    size_t n = p->below ? strlen (p->below) : 0;

    return p->kind != RELEASE_NEVER &&
           (n == 0 || (strncmp (path, p->below, n) == 0 && path[n] == '/'));
}

/* Remove the files, and record that in the ledger. */
static int remove_begun (struct spool *s, struct released *r, struct err *err)
{
    int rc = manifest_remove (r->path, r->manifest.data, r->manifest.size,
                              err);

    if (rc == 0) {
        rc = spool_change_release (s, r, RELEASE_REMOVED, NULL, err);
        counter_add (COUNTER_CAPTURES_RELEASED, 1);
    } else if (rc == -ESTALE) {
        (void)spool_change_release (s, r, RELEASE_OTHER_FILES, NULL, NULL);
        counter_add (COUNTER_RELEASES_REFUSED, 1);
    }
    return rc;
}

/* Drop a row that cannot be trusted: the capture stays for good. */
static int distrust (struct spool *s, struct released *r, struct err *err)
{
    int rc = spool_change_release (s, r, RELEASE_DROP, r->why, err);

    counter_add (COUNTER_RELEASES_REFUSED, 1);
    return rc < 0 ? rc : err_set (err, ESTALE, "%s stays: %s", r->path,
                                  r->why);
}

static bool passes (int rc)
{
    return fileio_trouble (rc) == FILEIO_SHORTAGE || rc == -ENOSPC ||
           rc == -EDQUOT;
}

/* Keep the whole capture.  After a temporary error it is tried again; otherwise
 * that is recorded, or it would be examined for ever.
 */
static int release_keep (struct spool *s, struct released *r, int rc,
                         const struct err *why)
{
    int noted;

    if (passes (rc))
        return rc;
    noted = spool_change_release (s, r, RELEASE_DIFFERS,
                                  why ? why->text : NULL, NULL);
    counter_add (COUNTER_RELEASES_REFUSED, 1);
    return noted < 0 ? noted : -ESTALE;
}

/* Record the removal in the ledger before anything happens to the capture.  If
 * it cannot be removed then, the next agent tries again, and other captures
 * need not wait for it.
 */
static int remove_kept (struct spool *s, struct released *r, struct err *err)
{
    const enum release_event put_off = r->state == RELEASE_KEPT_ROWS
                                           ? RELEASE_ROWS_PUT_OFF
                                           : RELEASE_PUT_OFF;
    int rc = spool_change_release (s, r, RELEASE_REMOVE, NULL, err);

    if (rc < 0)
        return rc;
    rc = manifest_set_aside (r->path, r->manifest.data, r->manifest.size, err);
    if (rc < 0 && passes (rc))
        (void)spool_change_release (s, r, put_off, err ? err->text : NULL,
                                    NULL);
    if (rc < 0)
        return release_keep (s, r, rc, err);
    rc = remove_begun (s, r, err);
    return rc < 0 && !passes (rc) ? -ESTALE : rc;
}

/* Another capture is in its place.  The rest of the old one, which was renamed,
 * is removed now, and its row dropped.  That must wait until the aggregator is
 * known to have the data, since nobody else may have it.
 */
static int release_forget (struct spool *s, struct released *r, bool confirmed)
{
    const bool begun = r->state == RELEASE_BEGUN && !r->why;

    if (begun && !confirmed)
        return -EAGAIN;
    if (begun)
        (void)manifest_remove (r->path, r->manifest.data, r->manifest.size,
                               NULL);
    (void)spool_change_release (s, r, RELEASE_DROP, NULL, NULL);
    return RELEASE_KEPT;
}

int release_claims (struct spool *s, const char *path, bool confirmed)
{
    struct released r;
    int rc;

    if (spool_find_releasing (s, path, &r, NULL) <= 0)
        return RELEASE_KEPT;
    rc = r.why ? 0 : manifest_is_of (path, r.manifest.data, r.manifest.size,
                                     r.sealed_ns);
    if (rc == 0 || (rc == -ENOENT && r.state == RELEASE_LEFT))
        rc = release_forget (s, &r, confirmed);
    else
        rc = (int)r.state;
    buf_fini (&r.manifest);
    return rc;
}

/* Drop the rows of captures whose other files are gone. */
static int forget_left (struct spool *s, struct err *err)
{
    struct released r = { .id = 0 };
    int rc;

    while ((rc = spool_next_release (s, RELEASE_LEFT, r.id, 0, &r, err)) > 0) {
        (void)release_claims (s, r.path, false);
        buf_fini (&r.manifest);
    }
    return rc;
}

int release_repair (struct spool *s, struct err *err)
{
    struct released r = { .id = 0 };
    int rc, first = forget_left (s, err);

    while ((rc = spool_next_release (s, RELEASE_BEGUN, r.id, 0, &r, err)) > 0) {
        rc = r.why ? distrust (s, &r, err) : remove_begun (s, &r, err);
        if (rc < 0 && first == 0)
            first = rc;
        buf_fini (&r.manifest);
    }
    return rc < 0 ? rc : first;
}

/* Give a capture its name back.  Possibly none of its files were removed, or
 * all.
 */
static int move_back (const struct released *r, struct err *err)
{
    int rc = manifest_set_back (r->path, r->manifest.data, r->manifest.size,
                                err);

    return rc < 0 ? err_prefix (err, -ESTALE, "the rest of %s stays",
                                r->path) : 0;
}

int release_take_back (struct spool *s, struct err *err)
{
    struct released r;
    int rc = spool_next_release (s, RELEASE_BEGUN, 0, 0, &r, err), dropped;

    if (rc <= 0)
        return rc;
    if (r.why) {
        rc = distrust (s, &r, err);
    } else {
        rc = move_back (&r, err);
        dropped = spool_change_release (s, &r, RELEASE_DROP, NULL,
                                        rc < 0 ? NULL : err);
        rc = dropped < 0 ? dropped : rc < 0 ? rc : 1;
    }
    buf_fini (&r.manifest);
    return rc;
}

/* Find the oldest capture in state 'kept' that may go; as spool_next_release.
 */
static int find_kept (struct spool *s, const struct release_policy *p,
                      enum release_state kept, int64_t wall_ns,
                      struct released *ret, struct err *err)
{
    int64_t after_ns = p->kind == RELEASE_AFTER ? p->after_ns : 0;
    int64_t before = INT64_MAX;
    int rc;

    if (kept == RELEASE_KEPT_ROWS && p->rows_after_ns > after_ns)
        after_ns = p->rows_after_ns;
    if (after_ns > 0)
        before = wall_ns - after_ns;
    rc = after_ns > 0 ? spool_date_releases (s, kept, wall_ns, err) : 0;
    if (rc < 0)
        return rc;
    ret->id = 0;
    while ((rc = spool_next_release (s, kept, ret->id, before, ret, err)) > 0 &&
           !release_concerns (p, ret->path))
        buf_fini (&ret->manifest);
    return rc;
}

/* A capture that an earlier agent delivered without raw files is not completely
 * delivered for this one, unless rows suffice.
 */
static int find_next (struct spool *s, const struct release_policy *p,
                      int64_t wall_ns, struct released *ret, struct err *err)
{
    int rc = find_kept (s, p, RELEASE_KEPT, wall_ns, ret, err);

    return rc == 0 && p->rows_suffice
               ? find_kept (s, p, RELEASE_KEPT_ROWS, wall_ns, ret, err) : rc;
}

int release_next (struct spool *s, const struct release_policy *p, bool full,
                  int64_t wall_ns, char path[PATH_MAX], struct err *err)
{
    struct released r;
    int rc;

    if (p->kind == RELEASE_NEVER || (p->kind == RELEASE_WHEN_FULL && !full))
        return 0;
    if ((rc = find_next (s, p, wall_ns, &r, err)) <= 0)
        return rc;
    (void)snprintf (path, PATH_MAX, "%s", r.path);
    if (r.why) {
        rc = distrust (s, &r, err);
        buf_fini (&r.manifest);
        return rc;
    }
    rc = manifest_check (r.path, r.manifest.data, r.manifest.size, err);
    rc = rc < 0 ? release_keep (s, &r, rc, err) : remove_kept (s, &r, err);
    buf_fini (&r.manifest);
    return rc < 0 ? rc : 1;
}
