/* node_agent/identity/capture_name.c - parse the name of a capture */
#include "identity/capture_name.h"

#include "base/clock.h"

#include <string.h>
#include <time.h>

#define STAMP_DIGITS 17         // YYYYMMDDhhmmssmmm
#define NS_DIGITS 19            // of a date in ns since 1970
#define MS_DIGITS 13            // of a date in ms
#define PID_DIGITS_MAX 10       // so it fits an int

static bool ends_with (const char *s, const char *end)
{
    size_t n = strlen (s), m = strlen (end);

    return n >= m && strcmp (s + n - m, end) == 0;
}

/* Find the last '_' before s[end]. 0 if there is none, or if anything but
 * digits is between them.
 */
static size_t digits_field (const char *s, size_t end, size_t *ndigits)
{
    size_t at = end;

    while (at > 0 && s[at - 1] >= '0' && s[at - 1] <= '9')
        at--;
    *ndigits = end - at;
    return *ndigits > 0 && at > 1 && s[at - 1] == '_' ? at - 1 : 0;
}

static int digits_value (const char *s, size_t n)
{
    int v = 0;

    for (size_t i = 0; i < n; i++)
        v = v * 10 + (s[i] - '0');
    return v;
}

/* Parse "YYYYMMDDhhmmss", with milliseconds if there are so many digits.
 * torch_npu and msprof write local time, MindSpore writes UTC.
 */
static int64_t stamp_ns (const char *s, size_t ndigits, bool utc)
{
    struct tm tm = { .tm_isdst = -1 };
    int ms = ndigits >= STAMP_DIGITS ? digits_value (s + 14, 3) : 0;
    time_t t;

    tm.tm_year = digits_value (s, 4) - 1900;
    tm.tm_mon = digits_value (s + 4, 2) - 1;
    tm.tm_mday = digits_value (s + 6, 2);
    tm.tm_hour = digits_value (s + 8, 2);
    tm.tm_min = digits_value (s + 10, 2);
    tm.tm_sec = digits_value (s + 12, 2);
    t = utc ? timegm (&tm) : mktime (&tm);
    if (t < 0 || t >= INT64_MAX / NS_PER_S)     // a year after 2261: no date
        return 0;
    return t * NS_PER_S + ms * NS_PER_MS;
}

static size_t count_digits (const char *s)
{
    size_t n = 0;

    while (s[n] >= '0' && s[n] <= '9')
        n++;
    return n;
}

/* Whether it is "PROF_<digits>_<digits>_<letters and digits>", a directory of
 * msprof.
 */
static bool is_prof (const char *s)
{
    size_t n;

    if (strncmp (s, "PROF_", strlen ("PROF_")) != 0)
        return false;
    s += strlen ("PROF_");
    for (int field = 0; field < 2; field++) {
        if ((n = count_digits (s)) == 0 || s[n] != '_')
            return false;
        s += n + 1;
    }
    return *s && strspn (s, "0123456789abcdefghijklmnopqrstuvwxyz"
                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == strlen (s);
}

/* The second field of a PROF_ name, if it is a date; else 0. */
static int64_t prof_made_ns (const char *s)
{
    const char *date = strchr (s + strlen ("PROF_"), '_') + 1;
    size_t n = count_digits (date);

    return n == STAMP_DIGITS || n == STAMP_DIGITS - 3
               ? stamp_ns (date, n, false) : 0;
}

bool capture_name_is_trace (const char *name)
{
    return ends_with (name, ".pt.trace.json") ||
           ends_with (name, ".pt.trace.json.gz");
}

/* Parse "<worker>.<ns or ms since 1970>.pt.trace.json". The worker is
 * <host>_<pid>, or a text of the program ("rank_3"), so it does not show the
 * host.  A number that only looks like a pid does no harm: no process has it.
 */
static void parse_trace (const char *name, struct capture_name *f)
{
    size_t end = strlen (name) - strlen (".pt.trace.json"), at, ndigits;
    int64_t v = 0;

    if (ends_with (name, ".gz"))
        end -= strlen (".gz");
    for (at = end; at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9';)
        at--;
    ndigits = end - at;
    if (at == 0 || name[at - 1] != '.' ||
        (ndigits != NS_DIGITS && ndigits != MS_DIGITS) ||
        name[at] == '9')        // near 2^63 ns: not a date
        return;
    for (size_t i = at; i < end; i++)
        v = 10 * v + (name[i] - '0');
    f->made_ns = ndigits == NS_DIGITS ? v : v * NS_PER_MS;
    end = digits_field (name, at - 1, &ndigits);
    if (end > 0 && ndigits < PID_DIGITS_MAX)
        f->pid = digits_value (name + end + 1, ndigits);
}

struct capture_name capture_name_parse (const char *name)
{
    struct capture_name f = { .framework = "" };
    size_t end, ndigits;

    if (ends_with (name, "_ascend_pt"))
        f.framework = "ascend_pt";
    else if (ends_with (name, "_ascend_ms"))
        f.framework = "ascend_ms";
    else if (is_prof (name))
        f.framework = "msprof";
    else if (capture_name_is_trace (name))
        f.framework = "kineto";
    if (strcmp (f.framework, "kineto") == 0)
        parse_trace (name, &f);
    if (strcmp (f.framework, "msprof") == 0)
        f.made_ns = prof_made_ns (name);
    if (strncmp (f.framework, "ascend", 6) != 0)
        return f;
    end = digits_field (name, strlen (name) - strlen ("_ascend_pt"),
                        &ndigits);
    if (end == 0 || ndigits != STAMP_DIGITS)
        return f;
    f.made_ns = stamp_ns (name + end + 1, ndigits,
                          strcmp (f.framework, "ascend_ms") == 0);
    f.worker_size = digits_field (name, end, &ndigits);
    if (f.worker_size > 0 && ndigits < PID_DIGITS_MAX)
        f.pid = digits_value (name + f.worker_size + 1, ndigits);
    return f;
}
