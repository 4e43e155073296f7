/* tests/fuzz/fuzz_config.c - what users, launchers and directories give
 *
 * The first byte says what the rest is: 0 a value of every kind, 1 a command
 * line (lines are arguments), 2 an environment (lines are NAME=VALUE), 3 the
 * manifest of a capture that is to be removed, 4 a small JSON document.
 */
#include "fuzz_dir.h"
#include "base/units.h"
#include "disk/disk_quota.h"
#include "disk/release.h"
#include "identity/capture_name.h"
#include "json/json.h"
#include "model/steps.h"
#include "net/net.h"
#include "options/options.h"
#include "spool/manifest.h"
#include "spool/manifest_remove.h"
#include "store/space.h"
#include "world/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define LINES_MAX 20

/* ---- values ---- */

static void numbers (const char *text, size_t size)
{
    int64_t v = 0;
    char out[16];
    double real;

    if (units_int (text, -5, 4096, &v) == 0 && (v < -5 || v > 4096))
        abort ();
    (void)units_int (text, INT64_MIN, INT64_MAX, &v);
    if (units_real (text, size, &real) == 0) {
        if (!isfinite (real))
            abort ();
        (void)units_round4 (real);
    }
    v = 0;
    (void)units_duration_ns (text, &v);
    (void)units_bytes (text, &v);
    (void)units_us_to_ns (text, size, &v);
    if (v < 0)
        abort ();               // none of these three can be
    units_bytes_text ((uint64_t)v, out);
    if (strlen (out) > 7)
        abort ();
}

static void values (const char *text, size_t size)
{
    struct steps_filter steps;
    struct space_limit limit;
    struct release_policy release;
    enum disk_quota_policy policy;
    struct capture_name name = capture_name_parse (text);

    numbers (text, size);
    if (steps_parse (text, &steps, NULL) == 0) {
        if (steps.nranges == 0)
            abort ();
        (void)steps_wanted (&steps, text, size);
        for (size_t i = 0; i < steps.nranges; i++) {
            if (steps.ranges[i].first > steps.ranges[i].last)
                abort ();
        }
    }
    if (space_parse_limit (text, &limit) == 0)
        (void)space_limit_bytes (&limit, UINT64_MAX, 1);
    (void)release_parse (text, &release);
    (void)disk_quota_parse_policy (text, &policy);
    (void)net_is_loopback (text);
    (void)message_valid_name (text);
    if (name.worker_size > size || name.pid < 0)
        abort ();
}

/* ---- lines ---- */

/* The lines of a text, which is changed; how many. */
static int split (char *text, char *lines[LINES_MAX])
{
    int n = 0;

    for (char *next; text && n < LINES_MAX; text = next) {
        if ((next = strchr (text, '\n')))
            *next++ = '\0';
        lines[n++] = text;
    }
    return n;
}

struct settings {
    bool flag;
    const char *text, *at;
    int64_t number, duration, bytes;
    struct space_limit room;
    struct option_list list;
};

static const struct option_spec options[] = {
    { "flag", 'f', OPTION_FLAG, offsetof (struct settings, flag), NULL, NULL,
      NULL, 0, 0, "Flag.", NULL },
    { "text", 't', OPTION_TEXT, offsetof (struct settings, text), "TEXT",
      "none", NULL, 0, 0, "Text.", NULL },
    { "number", 'n', OPTION_INT, offsetof (struct settings, number), "N", "7",
      NULL, -1, 4096, "Number.", NULL },
    { "duration", 'd', OPTION_DURATION, offsetof (struct settings, duration),
      "TIME", "5s", "FUZZ_DURATION", 0, 0, "Duration.", NULL },
    { "bytes", 'b', OPTION_BYTES, offsetof (struct settings, bytes), "SIZE",
      NULL, "FUZZ_BYTES", 0, 0, "Bytes.", NULL },
    { "room", 'r', OPTION_ROOM, offsetof (struct settings, room), "SIZE",
      "5%", NULL, 0, 0, "Room.", NULL },
    { "at", 'a', OPTION_ENDPOINTS, offsetof (struct settings, at), "ENDPOINT",
      NULL, NULL, 0, 0, "At.", NULL },
    { "list", 'l', OPTION_LIST, offsetof (struct settings, list), "TEXT",
      NULL, NULL, 0, 0, "List.", NULL },
};

static const struct command_spec command = {
    "fuzz", "[OPTION]...", "Nothing.", options,
    sizeof (options) / sizeof (options[0]),
};

static void command_line (char *text)
{
    static char name[] = "fuzz";
    char *argv[LINES_MAX + 2] = { name };
    int argc = 1 + split (text, argv + 1), rest = 0;
    bool stop_early = strlen (argv[argc - 1]) % 2;
    struct settings s;
    struct err err = { "" };

    for (int i = 1; i < argc; i++) {    // these print, and are not of interest
        if (strncmp (argv[i], "--h", 3) == 0 ||
            (argv[i][0] == '-' && strchr (argv[i], 'h')))
            return;
    }
    memset (&s, 0, sizeof (s));
    if (options_parse (&command, argc, argv, stop_early, &s, &rest, &err) !=
        OPTIONS_OK) {
        if (!err.text[0])
            abort ();
        return;
    }
    if (rest < 1 || rest > argc || s.number < -1 || s.number > 4096 ||
        s.duration < 0 || s.bytes < 0)
        abort ();
}

static void environment (char *text)
{
    static const char *const names[] = {
        "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
        "PMIX_NAMESPACE", "OMPI_MCA_orte_hnp_uri", "SLURM_STEP_ID",
        "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID",
        "SLURM_JOB_ID", "SLURM_CLUSTER_NAME", "RANK", "WORLD_SIZE",
        "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID",
        "MASTER_ADDR", "MASTER_PORT", "FUZZ_DURATION", "FUZZ_BYTES",
    };
    const size_t nnames = sizeof (names) / sizeof (names[0]);
    char *lines[LINES_MAX], *argv[] = { NULL };
    int n = split (text, lines), rest;
    struct settings s;
    struct world w;

    for (size_t i = 0; i < nnames; i++)
        (void)unsetenv (names[i]);
    for (int i = 0; i < n; i++) {
        size_t length = strcspn (lines[i], "=");

        for (size_t k = 0; k < nnames; k++) {
            if (lines[i][length] && strlen (names[k]) == length &&
                memcmp (lines[i], names[k], length) == 0)
                (void)setenv (names[k], lines[i] + length + 1, 1);
        }
    }
    if (world_from_environment (&w, NULL) == 0 &&
        (w.size < 1 || w.rank < 0 || w.rank >= w.size || w.local_rank < 0 ||
         !w.launcher || strlen (w.instance) >= sizeof (w.instance)))
        abort ();
    memset (&s, 0, sizeof (s));
    (void)options_parse (&command, 0, argv, false, &s, &rest, NULL);
}

/* ---- a manifest ---- */

static void remove_it (const char *text, size_t size, bool with_root)
{
    char path[PATH_MAX], all[8192];
    struct stat st;
    size_t n = 0;

    if (stat (fuzz_path (path, "capture"), &st) < 0)
        abort ();
    if (with_root)
        n = 1 + (size_t)snprintf (all, sizeof (all), "%llu %llu",
                                  (unsigned long long)st.st_dev,
                                  (unsigned long long)st.st_ino);
    if (size > sizeof (all) - n)
        size = sizeof (all) - n;
    memcpy (all + n, text, size);
    if (manifest_check (path, all, n + size, NULL) == 0)
        abort ();
    (void)manifest_remove (path, all, n + size, NULL);
}

/* The numbers of a file are not known to an input, so nothing is as it says
 * and everything must stay.
 */
static void manifest (const char *text, size_t size)
{
    char path[PATH_MAX];

    fuzz_mkdir ("capture/below");
    fuzz_write ("capture/below/a", "a", 1);
    remove_it (text, size, false);
    remove_it (text, size, true);
    if (access (fuzz_path (path, "capture/below/a"), F_OK) < 0)
        abort ();
}

/* ---- a document ---- */

static void document (const char *text, size_t size)
{
    struct json *j = json_parse (text, size, NULL), *again;
    char *printed;
    double real;
    int64_t v;

    if (!j)
        return;
    for (const struct json *i = json_first (j); i; i = json_next (i)) {
        (void)json_get (j, json_key (i));
        (void)json_text (i, "");
        (void)json_number (i, &real);
        (void)json_int (i, &v);
    }
    if (!(printed = json_print (j, size % 2)))
        abort ();
    if (!(again = json_parse (printed, strlen (printed), NULL)))
        abort ();
    json_free (again);
    free (printed);
    json_free (j);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char *text;

    if (size == 0 || !(text = malloc (size)))
        return 0;
    memcpy (text, data + 1, size - 1);
    text[size - 1] = '\0';
    switch (data[0] % 5) {
    case 0: values (text, strlen (text)); break;
    case 1: command_line (text); break;
    case 2: environment (text); break;
    case 3: manifest (text, size - 1); break;
    default: document (text, size - 1); break;
    }
    free (text);
    return 0;
}
