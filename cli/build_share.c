/* cli/build_share.c - which jobs of a root a process of build --all builds */
#include "build.h"

#include "base/texts.h"
#include "base/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SHARES_MAX 1000000      // more than there are tasks anywhere

enum { TASK_ID, TASK_MIN, TASK_MAX, TASK_STEP, TASK_COUNT, VALUES };

static const char *const variables[VALUES] = {
    "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
    "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT",
};

/* "I/N" */
static int parse (const char *text, struct build_share *ret, struct err *err)
{
    const char *slash = strchr (text, '/');
    int64_t index = 0, count = 0;
    char first[16];

    if (!slash || (size_t)(slash - text) >= sizeof (first))
        return err_set (err, EINVAL, "--share: \"%s\" is no I/N, as in 0/4",
                        text);
    PRINT (first, "%.*s", (int)(slash - text), text);
    if (units_int (slash + 1, 1, SHARES_MAX, &count) < 0 ||
        units_int (first, 0, SHARES_MAX, &index) < 0)
        return err_set (err, EINVAL, "--share: \"%s\" is no I/N, as in 0/4",
                        text);
    if (index >= count)
        return err_set (err, EINVAL, "--share: there is no share %s; the %lld "
                        "shares are 0/%lld to %lld/%lld", text, (long long)count,
                        (long long)count, (long long)count - 1,
                        (long long)count);
    *ret = (struct build_share){ (uint64_t)index, (uint64_t)count };
    return 0;
}

static int read_variables (int64_t v[VALUES], struct err *err)
{
    for (unsigned i = 0; i < VALUES; i++) {
        const char *text = getenv (variables[i]);

        if (!text || units_int (text, i >= TASK_STEP, INT32_MAX, &v[i]) < 0)
            return err_set (err, EINVAL, "%s is set and %s is %s: it cannot be "
                            "told which jobs this task of an array is to build; "
                            "--share I/N says that, and --share 0/1 is all of "
                            "them", variables[TASK_ID], variables[i],
                            text ? "no number" : "not");
    }
    return 0;
}

/* The indexes of an array have to be evenly spaced: if they are not, Slurm tells
 * no task how many there are below its own.
 */
static int share_of_task (struct build_share *ret, struct err *err)
{
    int64_t v[VALUES];
    int rc = read_variables (v, err);

    if (rc < 0)
        return rc;
    if (v[TASK_MAX] - v[TASK_MIN] != v[TASK_STEP] * (v[TASK_COUNT] - 1) ||
        v[TASK_ID] < v[TASK_MIN] || v[TASK_ID] > v[TASK_MAX] ||
        (v[TASK_ID] - v[TASK_MIN]) % v[TASK_STEP] != 0)
        return err_set (err, EINVAL, "the %lld tasks of this array, %lld to "
                        "%lld, are not evenly spaced, so it cannot be told which "
                        "jobs task %lld has.  Use --array=0-%lld, whose tasks "
                        "build all that is missing, or say each one's share: "
                        "--share $SLURM_ARRAY_TASK_ID/N if these are some tasks "
                        "of an array of 0 to N-1", (long long)v[TASK_COUNT],
                        (long long)v[TASK_MIN], (long long)v[TASK_MAX],
                        (long long)v[TASK_ID], (long long)v[TASK_COUNT] - 1);
    *ret = (struct build_share){
        (uint64_t)((v[TASK_ID] - v[TASK_MIN]) / v[TASK_STEP]),
        (uint64_t)v[TASK_COUNT],
    };
    return 0;
}

int build_share_read (const struct build_options *opt, struct build_share *ret,
                      struct err *err)
{
    *ret = (struct build_share){ 0, 1 };
    if (opt->share)
        return parse (opt->share, ret, err);
    // in the root itself only one process may build
    return opt->out && getenv (variables[TASK_ID]) ? share_of_task (ret, err) : 0;
}

bool build_share_has (const struct build_share *s, const char *job)
{
    return texts_hash (job, strlen (job)) % s->count == s->index;
}
