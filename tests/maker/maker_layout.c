// The directories and files of one capture.

#include "maker.h"

#include <errno.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FIRST_PID 20000
#define PID_STEP 7
#define STAMP_ROOM 32
#define NAME_ROOM 128
#define US_PER_SECOND 1000000
#define US_PER_MS 1000
#define FTW_FDS 8
#define RAW_RECORD "torch.op_range"
#define RAW_BYTES 4096

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

static void name_renamed (char *name, const struct capture *c)
{
    const struct options *opt = c->job->opt;
    int order = c->id.repeat + (c->id.other_values ? opt->repeat : 0) +
                (c->id.other_host ? 1 : 0);
    if (order == 0)
        snprintf (name, NAME_ROOM, "rank_%d_ascend_pt", c->id.rank);
    else
        snprintf (name, NAME_ROOM, "rank_%d_%d_ascend_pt", c->id.rank, order);
}

static void name_capture (char *name, const struct capture *c)
{
    const struct options *opt = c->job->opt;
    if (opt->renamed) {
        name_renamed (name, c);
        return;
    }
    int host = c->id.rank / opt->ranks_per_host;
    if (c->id.other_host) // one the job does not have
        host = (opt->ranks - 1) / opt->ranks_per_host + 1;
    uint64_t luck = draw (opt->seed, (uint64_t)c->id.rank);
    int pid = FIRST_PID + c->id.rank * PID_STEP + (int)(luck % PID_STEP);
    char stamp[STAMP_ROOM];
    put_stamp (stamp, c->base_us, true);
    snprintf (name, NAME_ROOM, "node%d_%d_%s_ascend_pt", host, pid, stamp);
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
    put_stamp (stamp, c->base_us, false);
    snprintf (name, sizeof name, "PROF_000001_%s_R%05dABC", stamp, c->id.rank);
    join_path (path, dir, name);
    make_dir (path);
    join_path (child, path, "host");
    make_dir (child);
    snprintf (name, sizeof name, "device_%d", c->device);
    join_path (child, path, name);
    make_dir (child);
}

static void write_output (const struct capture *c, const char *dir)
{
    const struct options *opt = c->job->opt;
    char path[MAX_PATH];
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

static void write_info_files (const struct capture *c, const char *dir)
{
    char path[MAX_PATH];
    char name[NAME_ROOM];
    if (c->job->opt->no_rank)
        snprintf (name, sizeof name, "profiler_info.json");
    else
        snprintf (name, sizeof name, "profiler_info_%d.json", c->id.rank);
    join_path (path, dir, name);
    write_profiler_info (c, path);
    join_path (path, dir, "profiler_metadata.json");
    write_metadata (c, path);
}

// Writes the capture, breaks it if asked to and returns its size.
int64_t write_capture (const struct capture *c)
{
    const struct options *opt = c->job->opt;
    unsigned flags = breaks_of (opt, c->id.rank);
    char name[NAME_ROOM];
    char dir[MAX_PATH];
    char output[MAX_PATH];
    char path[MAX_PATH];
    name_capture (name, c);
    join_path (dir, opt->outdir, name);
    make_dir (dir);
    if (flags & (B_RAW | B_COLLECTING | B_ANALYSING))
        write_raw (c, dir);
    if ((flags & B_COLLECTING) == 0)
        write_info_files (c, dir);
    join_path (output, dir, "ASCEND_PROFILER_OUTPUT");
    if ((flags & (B_RAW | B_COLLECTING)) == 0)
        make_dir (output);
    if ((flags & (B_RAW | B_COLLECTING | B_ANALYSING)) == 0) {
        write_output (c, output);
        break_files (output, c, flags);
        if (opt->age >= AGE_WITH_DONE && (flags & B_NO_DONE) == 0) {
            join_path (path, output, "analyse.done");
            close_file (create_file (path), path);
        }
    }
    counted = 0;
    if (nftw (dir, count_file, FTW_FDS, FTW_PHYS) != 0)
        die (dir);
    bool has_output = (flags & (B_RAW | B_COLLECTING)) == 0;
    if ((flags & B_UNREADABLE) && has_output && chmod (output, 0) != 0)
        die (output);
    return counted;
}
