/* tests/system/swap_at_open.c - exchanges a name in the moment it is opened
 *
 * Loaded with LD_PRELOAD.  When the path $SWAP_AT is about to be opened, by
 * open(2) or openat2(2), it is exchanged with $SWAP_AT~, once: what was found
 * out about it before is wrong then, as whoever owns the directory can have it.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int open_fn (const char *path, int flags, ...);
typedef long syscall_fn (long number, ...);

static atomic_flag swapped = ATOMIC_FLAG_INIT;

static void swap_once (const char *path)
{
    const char *wanted = getenv ("SWAP_AT");
    char other[PATH_MAX];

    if (!wanted || strcmp (path, wanted) != 0 ||
        atomic_flag_test_and_set (&swapped))
        return;
    (void)snprintf (other, sizeof (other), "%s~", wanted);
    (void)renameat2 (AT_FDCWD, wanted, AT_FDCWD, other, RENAME_EXCHANGE);
}

int open (const char *path, int flags, ...)
{
    void *symbol = dlsym (RTLD_NEXT, "open");
    open_fn *next;
    va_list ap;
    int mode;

    va_start (ap, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg (ap, int) : 0;
    va_end (ap);
    swap_once (path);
    memcpy (&next, &symbol, sizeof (next));
    return next (path, flags, mode);
}

long syscall (long number, ...)
{
    void *symbol = dlsym (RTLD_NEXT, "syscall");
    syscall_fn *next;
    long a[6];
    va_list ap;

    va_start (ap, number);
    for (int i = 0; i < 6; i++)         // as many as any has
        a[i] = va_arg (ap, long);
    va_end (ap);
    if (number == SYS_openat2)
        swap_once ((const char *)a[1]);
    memcpy (&next, &symbol, sizeof (next));
    return next (number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
