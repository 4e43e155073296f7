/* tests/kit/object_tool.c - the client of object stores, by hand, for tests
 *
 *     object_tool URL put KEY FILE       in parts if it is large
 *     object_tool URL get KEY AT N       bytes to the standard output
 *     object_tool URL head KEY           "SIZE ETAG"
 *     object_tool URL rm KEY
 *     object_tool URL ls [PREFIX]        "SIZE ETAG KEY" lines
 *     object_tool URL uploads [PREFIX]   "ID KEY" lines
 *     object_tool URL abort KEY ID
 *     object_tool URL check KEY FILE
 *     object_tool URL sealed KEY FILE    put, as a segment whose whole parts were
 *                                        hashed before; says "WALL CPU" of that
 *
 *     object_tool URL send KEY FILE      as single objects KEY, of a part each
 *     object_tool URL receive KEY N      N bytes, in ranges of a part, to nowhere
 *     object_tool --built                whether this build can
 *
 * Before the URL: --resume ID, --ca FILE, --proxy URL, --rate BYTES, --tries N,
 * --silence S.  The id of an upload goes to the standard error as "upload ID".  Exit
 * status: 0; 1, and the sentence; its errno is "errno N".
 */
#include "object_store/object_store.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int print_object (void *arg, const struct object_facts *o)
{
    (void)arg;
    return printf ("%llu %s %s\n", (unsigned long long)o->size, o->etag,
                   o->key) < 0 ? -EIO : 0;
}

static int print_upload (void *arg, const char *key, const char *upload)
{
    (void)arg;
    return printf ("%s %s\n", upload, key) < 0 ? -EIO : 0;
}

static int say_begun (void *arg, const char *upload, struct err *err)
{
    (void)arg;
    (void)err;
    fprintf (stderr, "upload %s\n", upload);
    return 0;
}

static double seconds (clockid_t of)
{
    struct timespec t;

    (void)clock_gettime (of, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Hash all whole parts of a file. */
static struct object_sums *sum (int fd, uint64_t size)
{
    double wall = seconds (CLOCK_MONOTONIC);
    double cpu = seconds (CLOCK_PROCESS_CPUTIME_ID);
    struct object_sums *ret = object_sums_create ();
    size_t n = (size_t)(size / OBJECT_PART_BYTES), done;

    while (ret && (done = object_sums_parts (ret)) < n) {
        if (object_sums_add (ret, fd, n - done < OBJECT_SUMS_MAX
                                          ? n - done : OBJECT_SUMS_MAX,
                             NULL) < 0)
            break;
    }
    printf ("%.4f %.4f\n", seconds (CLOCK_MONOTONIC) - wall,
            seconds (CLOCK_PROCESS_CPUTIME_ID) - cpu);
    return ret;
}

static int on_file (struct object_store *s, const char *what, const char *key,
                    const char *path, const char *resume, struct err *err)
{
    struct object_file f = { .key = key, .fd = open (path, O_RDONLY),
                             .begun = say_begun };
    struct object_sums *sums = NULL;
    struct stat st;
    int rc;

    if (f.fd < 0 || fstat (f.fd, &st) < 0)
        return err_sys (err, errno, "%s", path);
    f.size = (uint64_t)st.st_size;
    PRINT (f.upload, "%s", resume);
    if (strcmp (what, "sealed") == 0)
        f.sums = sums = sum (f.fd, f.size);
    rc = strcmp (what, "check") == 0 ? object_check_file (s, &f, err)
                                     : object_put_file (s, &f, err);
    object_sums_destroy (sums);
    return rc;
}

static int get (struct object_store *s, const char *key, const char *at,
                const char *count, struct err *err)
{
    size_t n = strtoull (count, NULL, 10);
    char *bytes = malloc (n + 1);
    int rc = object_get (s, key, strtoull (at, NULL, 10), bytes, n, err);

    if (rc == 0)
        (void)fwrite (bytes, 1, n, stdout);
    free (bytes);
    return rc;
}

/* What an upload does with its bytes, for tests/bench. */
static int send_parts (struct object_store *s, const char *key,
                       const char *path, struct err *err)
{
    void *bytes = malloc (OBJECT_PART_BYTES);
    int fd = open (path, O_RDONLY), rc = fd < 0 || !bytes ? -EIO : 0;
    ssize_t n;

    while (rc == 0 && (n = read (fd, bytes, OBJECT_PART_BYTES)) > 0)
        rc = object_put (s, key, bytes, (size_t)n, err);
    free (bytes);
    return rc;
}

static int receive_parts (struct object_store *s, const char *key,
                          const char *count, struct err *err)
{
    uint64_t size = strtoull (count, NULL, 10);
    void *bytes = malloc (OBJECT_PART_BYTES);
    int rc = bytes ? 0 : -ENOMEM;

    for (uint64_t at = 0; at < size && rc == 0; at += OBJECT_PART_BYTES)
        rc = object_get (s, key, at, bytes, size - at < OBJECT_PART_BYTES
                                                ? (size_t)(size - at)
                                                : OBJECT_PART_BYTES, err);
    free (bytes);
    return rc;
}

static int carry_out (struct object_store *s, char **v, const char *resume,
                      struct err *err)
{
    const char *what = v[1], *key = v[2] ? v[2] : "";
    struct object_facts o;
    int rc;

    if (strcmp (what, "ls") == 0)
        return object_list (s, key, print_object, NULL, err);
    if (strcmp (what, "uploads") == 0)
        return object_list_uploads (s, key, print_upload, NULL, err);
    if (strcmp (what, "rm") == 0)
        return object_delete (s, key, err);
    if (strcmp (what, "head") == 0) {
        if ((rc = object_head (s, key, &o, err)) == 0)
            printf ("%llu %s\n", (unsigned long long)o.size, o.etag);
        return rc;
    }
    if (strcmp (what, "send") == 0 && v[2] && v[3])
        return send_parts (s, key, v[3], err);
    if (strcmp (what, "receive") == 0 && v[2] && v[3])
        return receive_parts (s, key, v[3], err);
    if (strcmp (what, "abort") == 0 && v[2] && v[3])
        return object_abort (s, key, v[3], err);
    if (strcmp (what, "get") == 0 && v[2] && v[3] && v[4])
        return get (s, key, v[3], v[4], err);
    if ((strcmp (what, "put") == 0 || strcmp (what, "check") == 0 ||
         strcmp (what, "sealed") == 0) && v[2] && v[3])
        return on_file (s, what, key, v[3], resume, err);
    return err_set (err, EINVAL, "what is %s?", what);
}

int main (int argc, char **argv)
{
    static const struct option options[] = {
        { "resume", 1, NULL, 'r' }, { "ca", 1, NULL, 'c' },
        { "proxy", 1, NULL, 'p' }, { "rate", 1, NULL, 'm' },
        { "tries", 1, NULL, 't' }, { "silence", 1, NULL, 's' },
        { "built", 0, NULL, 'b' }, { 0 },
    };
    struct object_options opt = { .tries = 3 };
    struct object_store *s = NULL;
    const char *resume = "";
    struct err err = { "" };
    bool built = false;
    int c, rc;

    while ((c = getopt_long (argc, argv, "+", options, NULL)) != -1) {
        switch (c) {
        case 'r': resume = optarg; break;
        case 'c': opt.ca_file = optarg; break;
        case 'p': opt.proxy = optarg; break;
        case 'm': opt.max_rate = strtoull (optarg, NULL, 10); break;
        case 't': opt.tries = (unsigned)strtoul (optarg, NULL, 10); break;
        case 's': opt.silence_s = (unsigned)strtoul (optarg, NULL, 10); break;
        case 'b': built = true; break;
        default: return 2;
        }
    }
    if (built)
        return !object_store_is_built ();
    if (argc - optind < 2)
        return 2;
    opt.url = argv[optind];
    if ((rc = object_store_open (&opt, &s, &err)) == 0)
        rc = carry_out (s, argv + optind, resume, &err);
    if (s)
        fprintf (stderr, "requests %llu, again %llu\n",
                 (unsigned long long)object_store_counts (s).requests,
                 (unsigned long long)object_store_counts (s).again);
    if (rc < 0)
        fprintf (stderr, "errno %s\n%s\n", strerrorname_np (-rc), err.text);
    object_store_close (s);
    return rc < 0;
}
