/* tests/fuzz/fuzz_main.c - give files to a fuzz target, without libFuzzer
 *
 *     fuzz_scan_replay FILE|DIRECTORY...
 *
 * Every file is one input.  So any compiler can replay a corpus, and a found
 * input can be looked at in a debugger.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static unsigned long inputs;

static int fail (const char *path)
{
    fprintf (stderr, "%s: %s\n", path, strerror (errno));
    return -1;
}

static int run_file (const char *path, size_t size)
{
    uint8_t *data = malloc (size ? size : 1);   // exactly, for the sanitizer
    FILE *f = fopen (path, "rb");
    int rc = 0;

    if (!data || !f || fread (data, 1, size, f) != size)
        rc = fail (path);
    if (f)
        (void)fclose (f);
    if (rc == 0) {
        printf ("%s: %zu bytes\n", path, size);
        (void)fflush (stdout);                  // before it can abort
        (void)LLVMFuzzerTestOneInput (data, size);
        inputs++;
    }
    free (data);
    return rc;
}

static int run_path (const char *path, int depth);

static int run_dir (const char *path, int depth)
{
    DIR *dir = opendir (path);
    struct dirent *e;
    int rc = 0;

    if (!dir)
        return fail (path);
    while ((e = readdir (dir))) {
        char below[PATH_MAX];
        int n;

        if (e->d_name[0] == '.')
            continue;
        n = snprintf (below, sizeof (below), "%s/%s", path, e->d_name);
        if (n < 0 || (size_t)n >= sizeof (below) ||
            run_path (below, depth - 1) < 0)
            rc = -1;
    }
    (void)closedir (dir);
    return rc;
}

static int run_path (const char *path, int depth)
{
    struct stat st;

    if (stat (path, &st) < 0)
        return fail (path);
    if (S_ISDIR (st.st_mode))
        return depth > 0 ? run_dir (path, depth) : 0;
    return run_file (path, (size_t)st.st_size);
}

int main (int argc, char **argv)
{
    int rc = 0;

    for (int i = 1; i < argc; i++) {
        if (run_path (argv[i], 4) < 0)
            rc = 1;
    }
    printf ("%lu inputs\n", inputs);
    return inputs > 0 ? rc : 1;
}
