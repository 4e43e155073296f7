/* common/store/file_facts.c - what a file has beside its bytes */
#include "store/file_facts.h"

#include "base/clock.h"

#include <errno.h>
#include <unistd.h>

#define ID_MAX INT64_C (0xfffffffe)     // the next one means "unchanged"

struct file_facts file_facts_of (const struct stat *st, bool owner)
{
    return (struct file_facts){
        .mode = S_IFREG | (st->st_mode & FILE_FACTS_MODE),
        .mtime_ns = clock_ns (&st->st_mtim),
        .uid = owner ? (int64_t)st->st_uid : -1,
        .gid = owner ? (int64_t)st->st_gid : -1,
    };
}

bool file_facts_valid (const struct file_facts *f)
{
    if (f->mode == 0)
        return f->mtime_ns == 0 && f->uid == 0 && f->gid == 0;
    return (f->mode & ~(uint32_t)FILE_FACTS_MODE) == S_IFREG &&
           f->uid >= -1 && f->uid <= ID_MAX && f->gid >= -1 &&
           f->gid <= ID_MAX && (f->uid < 0) == (f->gid < 0);
}

/* The owner comes first: a change of it can take bits of the mode away. */
int file_facts_give (int fd, const struct file_facts *f, bool owner)
{
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 0 } };
    int64_t ns = f->mtime_ns % NS_PER_S;

    if (f->mode == 0)
        return 0;
    ns += ns < 0 ? NS_PER_S : 0;
    times[1].tv_sec = (f->mtime_ns - ns) / NS_PER_S;
    times[1].tv_nsec = ns;
    if (owner && f->uid >= 0 && fchown (fd, (uid_t)f->uid, (gid_t)f->gid) < 0)
        return -errno;
    return fchmod (fd, f->mode & FILE_FACTS_MODE) < 0 || futimens (fd, times) < 0
               ? -errno : 0;
}
