/* tests/unit/node_agent/discovery/watch_check.c - a watch over a directory of
 * its own */
#include "node_agent/discovery/watch_check.h"

int on_settled (void *arg, const struct watch_settled *s, struct err *err)
{
    struct fixture *f = arg;

    (void)err;
    f->settled++;
    f->unfinished += !s->finished;
    f->hint = s->rank_hint;
    (void)snprintf (f->last, sizeof (f->last), "%s", s->path);
    memcpy (f->fingerprint, s->fingerprint, sizeof (f->fingerprint));
    return f->rc;
}

int watch_setup (void **state)
{
    const char *tmp = getenv ("TMPDIR");
    struct fixture *f = calloc (1, sizeof (*f));

    (void)snprintf (f->dir, sizeof (f->dir), "%s/rollcall-watch-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (f->dir));
    f->w = watch_create ();
    assert_non_null (f->w);
    *state = f;
    return 0;
}

int watch_teardown (void **state)
{
    struct fixture *f = *state;

    watch_destroy (f->w);
    (void)fileio_remove_tree (f->dir, NULL);
    free (f);
    return 0;
}

void put (struct fixture *f, const char *name, const char *text)
{
    char path[PATH_MAX];
    char *slash;

    (void)snprintf (path, sizeof (path), "%s/%s", f->dir, name);
    slash = strrchr (path, '/');
    *slash = '\0';
    assert_int_equal (fileio_mkdirs (path, 0700, NULL), 0);
    *slash = '/';
    assert_int_equal (fileio_replace (path, text, strlen (text), 0600, NULL),
                      0);
}

int scan_at (struct fixture *f, int64_t mono_s, int64_t wall)
{
    return watch_scan (f->w, QUIET, mono_s * NS_PER_S, wall, on_settled, f,
                       NULL);
}

int flush_at (struct fixture *f, int64_t mono_s)
{
    return watch_flush (f->w, QUIET, mono_s * NS_PER_S, 0, on_settled, f,
                        NULL);
}
