/* tests/fuzz/fuzz_dir.c - a directory for targets that need files */
#include "fuzz_dir.h"

#include "store/fileio.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[PATH_MAX / 2];
static pid_t owner;

static void remove_dir (void)
{
    if (getpid () == owner)
        (void)fileio_remove_tree (dir, NULL);
}

const char *fuzz_dir (void)
{
    const char *tmp = getenv ("TMPDIR");

    if (dir[0])
        return dir;
    (void)snprintf (dir, sizeof (dir), "%s/rollcall-fuzz-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp (dir))
        abort ();
    owner = getpid ();
    (void)atexit (remove_dir);
    return dir;
}

const char *fuzz_path (char out[PATH_MAX], const char *name)
{
    if (!fileio_join (out, PATH_MAX, fuzz_dir (), name))
        abort ();
    return out;
}

void fuzz_mkdir (const char *name)
{
    char path[PATH_MAX];

    if (fileio_mkdirs (fuzz_path (path, name), 0700, NULL) < 0)
        abort ();
}

void fuzz_remove (const char *name)
{
    char path[PATH_MAX];

    (void)unlink (fuzz_path (path, name));
    if (access (path, F_OK) == 0 && fileio_remove_tree (path, NULL) < 0)
        abort ();
}

void fuzz_write (const char *name, const void *data, size_t size)
{
    char path[PATH_MAX];
    int fd = open (fuzz_path (path, name),
                   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || fileio_write_all (fd, data, size) < 0 || close (fd) < 0)
        abort ();
}

uint8_t *fuzz_read (const char *name, size_t *size)
{
    char path[PATH_MAX];
    int fd = open (fuzz_path (path, name), O_RDONLY | O_CLOEXEC);
    off_t end = fd < 0 ? -1 : lseek (fd, 0, SEEK_END);
    uint8_t *data = end < 0 ? NULL : malloc ((size_t)end + 1);

    if (!data || fileio_pread_all (fd, data, (size_t)end, 0) < 0)
        abort ();
    (void)close (fd);
    *size = (size_t)end;
    return data;
}
