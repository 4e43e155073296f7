/* node_agent/world/process_reports.c - reports of processes of COMMAND */
#include "world/process_reports.h"

#include "store/fileio.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX 4096           // bytes; the longest file has 1.2 kB

/* Parse "said-RANK-SIZE" or "mpi-FROM-RANK-SIZE". */
static bool parse_name (const char *name, struct process_report *t)
{
    long from = -1, rank, size;
    int at = -1;

    *t = (struct process_report){ .mpi = strncmp (name, "mpi-", 4) == 0,
                                 .parent = -1,
                                  .local_rank = -1 };
    if (t->mpi)
        (void)sscanf (name, "mpi-%ld-%ld-%ld%n", &from, &rank, &size, &at);
    else
        (void)sscanf (name, "said-%ld-%ld%n", &rank, &size, &at);
    if (at < 0 || name[at] || rank < 0 || size <= rank || size > INT32_MAX)
        return false;
    t->from = from;
    t->rank = rank;
    t->size = size;
    return true;
}

static void parse_line (const char *line, struct process_report *t)
{
    long n;

    if (sscanf (line, "parent %ld", &n) == 1)
        t->parent = n;
    else if (sscanf (line, "local_rank %ld", &n) == 1)
        t->local_rank = n;
    else
        (void)sscanf (line, "host %255s", t->host);
}

static bool parse_file (const char *path, struct process_report *t)
{
    struct buf b;
    char *line, *rest;
    bool whole;

    buf_init (&b, FILE_MAX);
    whole = fileio_read_at (AT_FDCWD, path, &b, NULL) == 0 && b.size > 0;
    rest = whole ? (char *)buf_text (&b) : NULL;
    while ((line = strsep (&rest, "\n")))
        parse_line (line, t);
    buf_fini (&b);
    return whole && t->parent >= 0;
}

void process_reports_read (const char *dir,
                           void (*fn) (void *arg,
                                       const struct process_report *t),
                           void *arg)
{
    char in[PATH_MAX], path[PATH_MAX];
    DIR *d = fileio_join (in, sizeof (in), dir, PRELOAD_DIR) ? opendir (in)
                                                          : NULL;
    struct dirent *e;
    struct process_report t;

    while (d && (e = readdir (d))) {
        if (parse_name (e->d_name, &t) &&
            fileio_join (path, sizeof (path), in, e->d_name) &&
            parse_file (path, &t))
            fn (arg, &t);
    }
    fileio_close_dir (d);
}
