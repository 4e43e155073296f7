// capture_maker: makes artificial profiler captures (one directory per rank
// of a distributed job) for rollcall's tests, benchmarks and quick start.

#include "maker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct summary {
    int captures;
    int ranks;
    int64_t bytes;
};

_Noreturn void die_text (const char *path, const char *text)
{
    fprintf (stderr, "capture_maker: %s: %s\n", path, text);
    exit (EXIT_IO);
}

_Noreturn void die (const char *path)
{
    die_text (path, strerror (errno));
}

// Zeroed memory for count things.
void *make_room (size_t count, size_t size)
{
    void *room = calloc (count > 0 ? count : 1, size);
    if (room == NULL)
        die ("memory");
    return room;
}

static void make_one (const struct job *job, struct capture_id id,
                      struct tables *truth, struct summary *sum)
{
    const struct swap *swap = &job->opt->swap;
    struct capture c;
    struct capture other = {.steps = NULL};
    struct parts parts = {&c, &c, &c};
    make_capture (&c, job, id);
    if (swap->a >= 0 && (id.rank == swap->a || id.rank == swap->b)) {
        id.rank = id.rank == swap->a ? swap->b : swap->a;
        make_capture (&other, job, id);
        *(swap->outputs ? &parts.output : &parts.info) = &other;
    }
    sum->bytes += write_capture (&parts);
    sum->captures++;
    if (truth != NULL && breaks_of (job->opt, c.id.rank) == 0)
        add_capture_rows (truth, &c);
    free_capture (&c);
    free_capture (&other);
}

static void make_rank (const struct job *job, int rank, struct tables *truth,
                       struct summary *sum)
{
    unsigned flags = breaks_of (job->opt, rank);
    struct capture_id id = {.rank = rank};
    for (id.repeat = 0; id.repeat < job->opt->repeat; id.repeat++)
        make_one (job, id, truth, sum);
    id.repeat = 0; // the extra captures have the same steps
    id.other_values = true;
    if (flags & B_DUPLICATE)
        make_one (job, id, truth, sum);
    id.other_host = true;
    if (flags & B_TWO_HOSTS)
        make_one (job, id, truth, sum);
    sum->ranks++;
}

int main (int argc, char **argv)
{
    struct options opt;
    struct job job;
    struct summary sum = {.captures = 0};
    struct tables *truth = NULL;
    parse_options (argc, argv, &opt);
    umask (0); // the modes are given exactly
    make_dirs (opt.outdir);
    if (opt.truth != NULL)
        truth = open_tables (opt.truth, &opt, true);
    build_job (&job, &opt);
    for (int rank = 0; rank < opt.ranks; rank++) {
        bool wanted = opt.only_rank < 0 || opt.only_rank == rank;
        if (wanted && !opt.skip[rank])
            make_rank (&job, rank, truth, &sum);
    }
    if (truth != NULL)
        close_tables (truth);
    free_job (&job);
    if (!opt.quiet)
        printf ("%d captures of %d ranks, %lld bytes in %s\n", sum.captures,
                sum.ranks, (long long)sum.bytes, opt.outdir);
    free (opt.skip);
    free (opt.listed);
    return EXIT_SUCCESS;
}
