/* cli/analyze_raw.c - captures that were never analysed, before rollcall
 * analyze reads them
 */
#include "analyze.h"

#include "base/clock.h"
#include "base/loop.h"
#include "base/units.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define LOOK_NS (200 * NS_PER_MS)       // for a signal

struct analyses {
    struct raw_capture *captures;
    size_t n, left;
    const atomic_bool *cancel;
    struct loop *loop;
    void (*tell) (const char *text);
    const struct analyser_options *opt;
};

static void on_analysed (void *arg, const char *path, enum analysed how,
                         const char *why)
{
    struct analyses *a = arg;

    for (size_t i = 0; i < a->n; i++) {
        struct raw_capture *c = &a->captures[i];

        if (strcmp (c->path, path) != 0)
            continue;
        c->how = how;
        PRINT (c->why, "%s", why);
    }
    if (--a->left == 0)
        loop_stop (a->loop, 0);
}

static void on_found (void *arg, enum own_analysis own, bool there)
{
    const struct analyses *a = arg;
    char text[256];
    size_t n = 0;

    for (size_t i = 0; i < a->n; i++)
        n += a->captures[i].own == own;
    PRINT (text, "analysing %zu capture%s that %s never analysed, with %s; the "
           "logs are in %.100s", n, units_s (n), n == 1 ? "was" : "were",
           own_analysis_module (own), a->opt->log_dir);
    if (there)
        a->tell (text);
}

static void on_put_off (void *arg, const char *path, const char *why)
{
    const struct analyses *a = arg;
    char text[PATH_MAX + ANALYSER_WHY_MAX];

    PRINT (text, "%s waits: %s", path, why);
    a->tell (text);
}

static void look (void *arg)
{
    struct analyses *a = arg;

    if (atomic_load (a->cancel))
        loop_stop (a->loop, -EINTR);
    else
        (void)loop_add_timer (a->loop, LOOK_NS, look, a);
}

static int analyze_raw_run (struct analyses *a,
                            const struct analyser_options *opt)
{
    struct analyser *x = analyser_create (a->loop, opt, on_analysed, a);
    int rc = x ? 0 : -ENOMEM;

    for (size_t i = 0; i < a->n && rc == 0; i++)
        rc = analyser_add (x, a->captures[i].path, a->captures[i].own);
    look (a);
    if (rc == 0)
        rc = loop_run (a->loop);
    analyser_destroy (x);
    return rc;
}

bool analyze_raw_wants (const struct analyser_options *opt,
                        enum own_analysis own)
{
    if (opt->set.command)
        return strcmp (opt->set.command, ANALYSER_NONE) != 0;
    return own != OWN_NONE;
}

int analyze_raw (struct raw_capture *captures, size_t n,
                 const struct analyser_options *options,
                 void (*tell) (const char *text), const atomic_bool *cancel,
                 struct err *err)
{
    struct analyser_options opt = *options;
    struct analyses a = { captures, n, n, cancel, loop_create (), tell, &opt };
    char text[256];
    int rc;

    if (!a.loop)
        return err_set (err, ENOMEM, "no memory to analyse captures");
    opt.found = on_found;
    opt.put_off = on_put_off;
    opt.once = true;
    PRINT (text, "analysing %zu capture%s that %s never analysed; the logs are "
           "in %.100s", n, units_s (n), n == 1 ? "was" : "were", opt.log_dir);
    if (opt.set.command)
        tell (text);
    rc = analyze_raw_run (&a, &opt);
    loop_destroy (a.loop);
    return rc < 0 ? err_sys (err, -rc, "cannot analyse captures") : 0;
}
