/* node_agent/offline_analysis/own_analysis.c - the offline analyses of the profilers */
#include "offline_analysis/own_analysis.h"

#include "model/capture.h"
#include "model/steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// it passes the arguments that the installed version has, and reports the
// others: older versions have fewer.  It must not contain a quote '
#define PROGRAM_HEAD "python3 -c 'from inspect import signature\nimport sys\n"
#define PROGRAM_TAIL \
    "known = signature(analyse).parameters\n" \
    "for name in sorted(set(wanted) - set(known)):\n" \
    "    print(name, \"is left out: this analysis does not know it\")\n" \
    "analyse(profiler_path=sys.argv[1], " \
    "**{name: wanted[name] for name in wanted if name in known})'"

static const struct {
    const char *framework, *module, *probe;
} own_analyses[OWN_ANALYSES] = {
    [OWN_TORCH_NPU] = { "ascend_pt", "torch_npu",
                        "python3 -c 'import torch_npu'" },
    [OWN_MINDSPORE] = { "ascend_ms", "mindspore",
                        "python3 -c 'import mindspore.profiler.profiler'" },
};

enum own_analysis own_analysis_of (const char *framework)
{
    enum own_analysis own = OWN_TORCH_NPU;

    while (own < OWN_ANALYSES &&
           strcmp (own_analyses[own].framework, framework) != 0)
        own++;
    return own;
}

const char *own_analysis_module (enum own_analysis own)
{
    return own_analyses[own].module;
}

const char *own_analysis_probe (enum own_analysis own)
{
    return own_analyses[own].probe;
}

/* Write "text,db" as a Python list.  NULL: it is anything else. */
static const char *export_words (const char *export)
{
    static const char *const forms[][2] = {
        { "text", "\"text\"" },
        { "db", "\"db\"" },
        { "text,db", "\"text\", \"db\"" },
        { "db,text", "\"db\", \"text\"" },
    };

    for (size_t i = 0; i < sizeof (forms) / sizeof (forms[0]); i++) {
        if (strcmp (forms[i][0], export) == 0)
            return forms[i][1];
    }
    return NULL;
}

/* Parse a list of steps.  It must not be longer than a capture has steps, since
 * it is expanded.
 */
static int parse_steps (const char *list, struct steps_filter *ret,
                        struct err *err)
{
    uint64_t n = 0;
    int rc = steps_parse (list, ret, err);

    if (rc < 0)
        return err_prefix (err, rc, "--analyse-steps");
    for (unsigned i = 0; i < ret->nranges && n <= CAPTURE_STEPS_MAX; i++)
        n += (uint64_t)(ret->ranges[i].last - ret->ranges[i].first) + 1;
    return n <= CAPTURE_STEPS_MAX
               ? 0 : err_set (err, EINVAL, "--analyse-steps: more than %d "
                              "steps", CAPTURE_STEPS_MAX);
}

int own_analysis_check (const struct own_settings *s, struct err *err)
{
    if (s->export && !export_words (s->export))
        return err_set (err, EINVAL, "--analyse-export: one of text, db, "
                        "text,db");
    return s->steps ? parse_steps (s->steps, &(struct steps_filter){ 0 }, err)
                    : 0;
}

static void put_steps (FILE *f, const char *list)
{
    struct steps_filter steps;

    if (parse_steps (list, &steps, NULL) < 0)
        return;
    (void)fputs ("\"step_list\": [", f);
    for (unsigned i = 0; i < steps.nranges; i++)
        (void)fprintf (f, "%s*range(%lld, %lld + 1)", i > 0 ? ", " : "",
                       (long long)steps.ranges[i].first,
                       (long long)steps.ranges[i].last);
    (void)fputs ("], ", f);
}

char *own_analysis_command (enum own_analysis own,
                            const struct own_settings *s)
{
    char *text = NULL;
    size_t size;
    FILE *f = own_analysis_check (s, NULL) < 0 ? NULL
                                               : open_memstream (&text, &size);

    if (!f)
        return NULL;
    (void)fprintf (f, PROGRAM_HEAD "from %s.profiler.profiler import analyse\n"
                   "wanted = {", own_analyses[own].module);
    if (s->processes > 0)
        (void)fprintf (f, "\"max_process_number\": %lld, ",
                       (long long)s->processes);
    if (s->export)
        (void)fprintf (f, "\"export_type\": [%s], ",
                       export_words (s->export));
    if (s->steps)
        put_steps (f, s->steps);
    (void)fputs ("}\n" PROGRAM_TAIL, f);
    if (fclose (f) != 0) {
        free (text);
        text = NULL;
    }
    return text;
}
