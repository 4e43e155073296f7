// The directories and files of one capture.

#include "maker.h"

#include <errno.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define STAMP_ROOM 32
#define NAME_ROOM 256
#define US_PER_SECOND 1000000
#define US_PER_MS 1000
#define FTW_FDS 8
#define RAW_RECORD "torch.op_range"
#define RAW_BYTES 4096
#define OUTPUT_DIR "ASCEND_PROFILER_OUTPUT"
#define TICKS_PER_US_INT 50

void join_path (char *out, const char *dir, const char *name)
{
    int used = snprintf (out, MAX_PATH, "%s/%s", dir, name);
    if (used < 0 || used >= MAX_PATH) {
        errno = ENAMETOOLONG;
        die (dir);
    }
}

static void make_dir (const char *path)
{
    if (mkdir (path, DIR_MODE) != 0)
        die (path);
}

// Makes path and its parents where missing.
void make_dirs (const char *path)
{
    char part[MAX_PATH];
    if (strlen (path) >= sizeof part) {
        errno = ENAMETOOLONG;
        die (path);
    }
    strcpy (part, path);
    for (char *c = part + 1; *c != '\0'; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        if (mkdir (part, DIR_MODE) != 0 && errno != EEXIST)
            die (part);
        *c = '/';
    }
    if (mkdir (part, DIR_MODE) != 0 && errno != EEXIST)
        die (part);
}

// YYYYMMDDhhmmss, and three digits of milliseconds if wanted; the hosts of
// the artificial job live in UTC.
static void put_stamp (char *text, int64_t us, bool with_ms)
{
    time_t seconds = (time_t)(us / US_PER_SECOND);
    struct tm tm;
    gmtime_r (&seconds, &tm);
    size_t used = strftime (text, STAMP_ROOM, "%Y%m%d%H%M%S", &tm);
    if (with_ms)
        snprintf (text + used, STAMP_ROOM - used, "%03d",
                  (int)(us % US_PER_SECOND / US_PER_MS));
}

// Local time of the window's beginning.
static void put_begin (char *text, const struct capture *c, bool with_ms)
{
    put_stamp (text, c->base_us + c->first_tick / TICKS_PER_US_INT, with_ms);
}

static const char *suffix_of (const struct options *opt)
{
    if (opt->form & FORM_KINETO)
        return ".pt.trace.json";
    return opt->mindspore ? "_ascend_ms" : "_ascend_pt";
}

static void name_renamed (char *name, const struct capture *c)
{
    const struct options *opt = c->job->opt;
    const char *kind = opt->form & FORM_KINETO ? "rank" : "rank_";
    int order = c->id.repeat + (c->id.other_values ? opt->repeat : 0) +
                (c->id.other_host ? 1 : 0);
    int rank = c->id.rank;
    if (opt->layout == LAYOUT_HOSTS)
        rank %= opt->ranks_per_host;
    if (order == 0)
        snprintf (name, NAME_ROOM, "%s%d%s", kind, rank, suffix_of (opt));
    else
        snprintf (name, NAME_ROOM, "%s%d_%d%s", kind, rank, order,
                  suffix_of (opt));
}

// The letters behind the time are of no use but to tell two apart.
static void name_msprof (char *name, const struct capture *c)
{
    char stamp[STAMP_ROOM];
    put_begin (stamp, c, true);
    snprintf (name, NAME_ROOM, "PROF_%06d_%s_R%05dABC", c->id.repeat + 1,
              stamp, c->id.rank);
}

static void name_capture (char *name, const struct capture *c)
{
    const struct options *opt = c->job->opt;
    char worker[MAX_NAME];
    char stamp[STAMP_ROOM];
    if (opt->form & FORM_MSPROF) {
        name_msprof (name, c);
        return;
    }
    if (opt->layout != LAYOUT_REAL) {
        name_renamed (name, c);
        return;
    }
    put_worker (worker, c);
    put_begin (stamp, c, true);
    if (opt->form & FORM_KINETO)
        snprintf (name, NAME_ROOM, "%s_%d.%lld%s", worker, pid_of (c),
                  (long long)clocks_of (c).end_ns, suffix_of (opt));
    else
        snprintf (name, NAME_ROOM, "%s_%d_%s%s", worker, pid_of (c), stamp,
                  suffix_of (opt));
}

// What the collection leaves before the analysis has run.
static void write_raw (const struct capture *c, const char *dir)
{
    char path[MAX_PATH];
    char child[MAX_PATH];
    char name[NAME_ROOM];
    char stamp[STAMP_ROOM];
    join_path (path, dir, "FRAMEWORK");
    make_dir (path);
    join_path (child, path, RAW_RECORD);
    FILE *f = create_file (child);
    for (uint64_t i = 0; i < RAW_BYTES; i++)
        putc ((int)(draw (c->job->opt->seed, i) & 0xff), f);
    close_file (f, child);
    put_begin (stamp, c, false);
    snprintf (name, sizeof name, "PROF_000001_%s_R%05dABC", stamp, c->id.rank);
    join_path (path, dir, name);
    make_dir (path);
    join_path (child, path, "host");
    make_dir (child);
    snprintf (name, sizeof name, "device_%d", c->device);
    join_path (child, path, name);
    make_dir (child);
}

static void name_event_db (char *name, const struct capture *c)
{
    if (c->job->opt->no_rank)
        snprintf (name, NAME_ROOM, "ascend_pytorch_profiler.db");
    else
        snprintf (name, NAME_ROOM, "ascend_pytorch_profiler_%d.db",
                  claimed_rank (c));
}

static void write_output (const struct capture *c, const char *dir)
{
    const struct options *opt = c->job->opt;
    char path[MAX_PATH];
    char name[NAME_ROOM];
    if (opt->form & FORM_TEXT) {
        if (has_communication (opt)) {
            join_path (path, dir, "communication.json");
            write_communication (c, path);
            join_path (path, dir, "communication_matrix.json");
            write_matrix (c, path);
        }
        join_path (path, dir, "step_trace_time.csv");
        write_step_csv (c, path);
        if (opt->extras)
            write_extras (c, dir);
    }
    if (opt->form & FORM_TIMELINE) {
        join_path (path, dir, "trace_view.json");
        write_trace_view (c, path);
    }
    if (opt->form & FORM_KERNELS) {
        join_path (path, dir, "kernel_details.csv");
        write_kernels (c, path);
    }
    if (opt->form & FORM_EVENT_DB) {
        name_event_db (name, c);
        join_path (path, dir, name);
        write_event_db (c, path);
    }
    if (opt->form & FORM_DB) {
        join_path (path, dir, "analysis.db");
        struct tables *t = open_tables (path, opt, false);
        add_capture_rows (t, c);
        close_tables (t);
    }
}

static int64_t counted; // nftw's callback has no argument of ours

static int count_file (const char *path, const struct stat *st, int type,
                       struct FTW *where)
{
    (void)path;
    (void)where;
    if (type == FTW_F)
        counted += st->st_size;
    return 0;
}

static void write_info_files (const struct parts *parts, const char *dir)
{
    const struct capture *c = parts->info;
    const struct options *opt = c->job->opt;
    char path[MAX_PATH];
    char name[NAME_ROOM];
    if (opt->no_rank)
        snprintf (name, sizeof name, "profiler_info.json");
    else
        snprintf (name, sizeof name, "profiler_info_%d.json",
                  claimed_rank (c));
    join_path (path, dir, name);
    write_profiler_info (c, path);
    if (opt->no_metadata)
        return;
    join_path (path, dir, "profiler_metadata.json");
    write_metadata (parts->name, path);
}

// What the msprof program leaves of a process.
static void write_msprof (const struct capture *c, const char *dir)
{
    char path[MAX_PATH];
    char child[MAX_PATH];
    char name[NAME_ROOM];
    char stamp[STAMP_ROOM];
    join_path (path, dir, "host");
    make_dir (path);
    for (int i = 0; i < c->job->opt->devices; i++) {
        snprintf (name, sizeof name, "device_%d", c->device + i);
        join_path (path, dir, name);
        make_dir (path);
        snprintf (name, sizeof name, "info.json.%d", c->device + i);
        join_path (child, path, name);
        write_device_info (c, c->device + i, child);
    }
    put_begin (stamp, c, false);
    snprintf (name, sizeof name, "msprof_%s.db", stamp);
    join_path (path, dir, name);
    write_event_db (c, path);
}

// Writes a directory of torch_npu or MindSpore, and breaks it if asked to.
static void write_torch (const struct parts *parts, const char *dir)
{
    const struct capture *c = parts->output;
    const struct options *opt = c->job->opt;
    unsigned flags = breaks_of (opt, parts->name->id.rank);
    char output[MAX_PATH];
    char path[MAX_PATH];
    if (flags & (B_RAW | B_COLLECTING | B_ANALYSING))
        write_raw (c, dir);
    if ((flags & B_COLLECTING) == 0)
        write_info_files (parts, dir);
    join_path (output, dir, OUTPUT_DIR);
    if ((flags & (B_RAW | B_COLLECTING)) == 0)
        make_dir (output);
    if (flags & (B_RAW | B_COLLECTING | B_ANALYSING))
        return;
    write_output (c, output);
    break_files (output, c, flags);
    if (opt->age >= AGE_WITH_DONE && (flags & B_NO_DONE) == 0) {
        join_path (path, output, "analyse.done");
        close_file (create_file (path), path);
    }
}

static void lock_output (const struct options *opt, int rank, const char *dir)
{
    char output[MAX_PATH];
    unsigned flags = breaks_of (opt, rank);
    join_path (output, dir, OUTPUT_DIR);
    if ((flags & B_UNREADABLE) && (flags & (B_RAW | B_COLLECTING)) == 0 &&
        chmod (output, 0) != 0)
        die (output);
}

// Writes the capture and returns its size.
int64_t write_capture (const struct parts *parts)
{
    const struct capture *c = parts->name;
    const struct options *opt = c->job->opt;
    char name[NAME_ROOM];
    char host[MAX_NAME];
    char dir[MAX_PATH];
    char path[MAX_PATH];
    name_capture (name, c);
    join_path (dir, opt->outdir, "");
    if (opt->layout == LAYOUT_HOSTS) {
        put_host_name (host, c);
        join_path (dir, opt->outdir, host);
        make_dirs (dir);
    }
    join_path (path, dir, name);
    if (opt->form & FORM_KINETO) {
        write_kineto (parts->output, path);
    } else {
        make_dir (path);
        if (opt->form & FORM_MSPROF)
            write_msprof (parts->output, path);
        else
            write_torch (parts, path);
    }
    counted = 0;
    if (nftw (path, count_file, FTW_FDS, FTW_PHYS) != 0)
        die (path);
    lock_output (opt, c->id.rank, path);
    return counted;
}
