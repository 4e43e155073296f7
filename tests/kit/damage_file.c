/* tests/kit/damage_file.c - damage a file, by chance
 *
 *     damage_file SEED FILE [KIND]
 *
 * Prints what was done, and does not follow links.  KIND is one of the names
 * below; without it chance decides.  A file of no bytes gets some.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX ((size_t)1 << 26)
#define NESTED 200000

struct text {
    char *data;
    size_t size;
};

static uint64_t state;

static uint64_t draw (uint64_t below)       // splitmix64
{
    uint64_t z = (state += UINT64_C (0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
    return below ? (z ^ (z >> 31)) % below : 0;
}

static void die (const char *what)
{
    perror (what);
    exit (1);
}

/* Put 'n' bytes at 'at', in the place of 'old' bytes. */
static void put_bytes (struct text *t, size_t at, size_t old,
                       const char *with, size_t n)
{
    char *grown = malloc (t->size + n + 1);

    if (!grown)
        die ("memory");
    if (old > t->size - at)
        old = t->size - at;
    memcpy (grown, t->data, at);
    memcpy (grown + at, with, n);
    memcpy (grown + at + n, t->data + at + old, t->size - at - old);
    t->size += n - old;
    free (t->data);
    t->data = grown;
}

/* Where some byte of 'set' is, from chance on and around; else anywhere. */
static size_t find (const struct text *t, const char *set)
{
    size_t from = draw (t->size);

    for (size_t i = 0; i < t->size; i++) {
        size_t at = (from + i) % t->size;

        if (t->data[at] && strchr (set, t->data[at]))
            return at;
    }
    return from;
}

static void bytes (struct text *t)
{
    for (uint64_t n = 1 + draw (8); n > 0 && t->size > 0; n--)
        t->data[draw (t->size)] = (char)draw (256);
}

static void cut (struct text *t)
{
    t->size = draw (t->size);
}

static void repeat (struct text *t, size_t n, const char *what, size_t at)
{
    size_t length = strlen (what);
    char *all = malloc (n * length);

    if (!all)
        die ("memory");
    for (size_t i = 0; i < n; i++)
        memcpy (all + i * length, what, length);
    put_bytes (t, at, 0, all, n * length);
    free (all);
}

static void nest (struct text *t)
{
    repeat (t, NESTED, draw (2) ? "[" : "{\"a\":", find (t, ":,"));
}

static void number (struct text *t)
{
    static const char *const huge[] = {
        "1e999", "-1", "99999999999999999999999999", "0x10", "NaN",
        "9223372036854775808", "-9223372036854775808", "1e-999", "00", "1e",
    };
    const char *with = huge[draw (sizeof (huge) / sizeof (huge[0]))];
    size_t at = find (t, "0123456789"), end = at;

    while (end < t->size && strchr ("0123456789.", t->data[end]) &&
           t->data[end])
        end++;
    put_bytes (t, at, end - at, with, strlen (with));
}

static void string (struct text *t)
{
    repeat (t, 3000000, "A\\u202e", find (t, "abcdefghijklmnopqrstuvwxyz"));
}

static void evil (struct text *t)
{
    static const char *const what[] = {
        "</script><script>document.title='x'</script>", "\x1b]0;x\a", "\0a",
        "=cmd|'/C x'!A1", "\xe2\x80\xae", "\\u0000", "\xff\xfe", "'\";--",
        "../../../../tmp/x",
    };
    size_t i = draw (sizeof (what) / sizeof (what[0]));

    put_bytes (t, find (t, "abcdefghijklmnopqrstuvwxyz"), 0, what[i],
               i == 2 ? 2 : strlen (what[i]));
}

/* A part of the file twice: a key, an event, a page. */
static void twice (struct text *t)
{
    size_t from = find (t, "{,\n"), n = draw (4096);
    struct text part;

    if (n > t->size - from)
        n = t->size - from;
    part.data = malloc (n + 1);
    if (!part.data)
        die ("memory");
    memcpy (part.data, t->data + from, n);
    put_bytes (t, from, 0, part.data, n);
    free (part.data);
}

static void zeros (struct text *t)
{
    size_t from = draw (t->size), n = 1 + draw (4096);

    memset (t->data + from, 0, n < t->size - from ? n : t->size - from);
}

static const struct kind {
    const char *name;
    void (*damage) (struct text *t);
} kinds[] = {
    { "bytes", bytes }, { "cut", cut }, { "nest", nest }, { "number", number },
    { "string", string }, { "evil", evil }, { "twice", twice },
    { "zeros", zeros },
};

#define KINDS (sizeof (kinds) / sizeof (kinds[0]))

int main (int argc, char **argv)
{
    struct text t = { malloc (FILE_MAX), 0 };
    size_t i;
    ssize_t n = 0;
    int fd;

    if (argc < 3 || !t.data)
        return 2;
    state = strtoull (argv[1], NULL, 10);
    if ((fd = open (argv[2], O_RDWR | O_NOFOLLOW | O_NONBLOCK)) < 0 ||
        (n = read (fd, t.data, FILE_MAX)) < 0)
        die (argv[2]);
    t.size = (size_t)n;
    if (t.size == 0)
        repeat (&t, 1, "{", 0);
    i = draw (KINDS);
    for (size_t k = 0; argc > 3 && k < KINDS; k++)
        i = strcmp (kinds[k].name, argv[3]) == 0 ? k : i;
    kinds[i].damage (&t);
    if (pwrite (fd, t.data, t.size, 0) != (ssize_t)t.size ||
        ftruncate (fd, (off_t)t.size) < 0 || close (fd) < 0)
        die (argv[2]);
    free (t.data);
    (void)puts (kinds[i].name);
    return 0;
}
