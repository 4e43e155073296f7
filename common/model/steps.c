/* common/model/steps.c - which steps are wanted (--steps) */
#include "model/steps.h"

#include "base/units.h"

#include <errno.h>
#include <string.h>

#define STEP_PREFIX "step"

static int parse_part (char *part, struct steps_filter *f)
{
    char *dash = strchr (part, '-');
    int64_t first, last;

    if (dash)
        *dash = '\0';
    if (units_int (part, 0, INT64_MAX, &first) < 0 ||
        units_int (dash ? dash + 1 : part, first, INT64_MAX, &last) < 0)
        return -EINVAL;
    if (f->nranges == STEPS_RANGES_MAX)
        return -E2BIG;
    f->ranges[f->nranges].first = first;
    f->ranges[f->nranges++].last = last;
    return 0;
}

int steps_parse (const char *list, struct steps_filter *ret, struct err *err)
{
    struct steps_filter f = { .nranges = 0 };
    char part[64];

    for (const char *p = list;; p++) {
        size_t n = strcspn (p, ",");
        int rc = n < sizeof (part) ? 0 : -EINVAL;

        if (rc == 0) {
            memcpy (part, p, n);
            part[n] = '\0';
            rc = parse_part (part, &f);
        }
        if (rc == -E2BIG)
            return err_set (err, EINVAL, "more than %d ranges of steps",
                            STEPS_RANGES_MAX);
        if (rc < 0)
            return err_set (err, EINVAL, "\"%.*s\" is not a step or a range "
                            "like 10-12", (int)n, p);
        p += n;
        if (*p == '\0')
            break;
    }
    *ret = f;
    return 0;
}

const char *steps_id (const char *step, size_t n, size_t *id_size)
{
    size_t prefix = sizeof (STEP_PREFIX) - 1;

    if (n >= prefix && memcmp (step, STEP_PREFIX, prefix) == 0) {
        *id_size = n - prefix;
        return step + prefix;
    }
    *id_size = n;
    return step ? step : "";
}

bool steps_wanted (const struct steps_filter *f, const char *step, size_t n)
{
    char id[24];
    size_t size;
    const char *s = steps_id (step, n, &size);
    int64_t v;

    if (!f || f->nranges == 0)
        return true;
    if (size >= sizeof (id))
        return false;
    memcpy (id, s, size);
    id[size] = '\0';
    if (units_int (id, 0, INT64_MAX, &v) < 0)
        return false;
    for (unsigned i = 0; i < f->nranges; i++) {
        if (v >= f->ranges[i].first && v <= f->ranges[i].last)
            return true;
    }
    return false;
}
