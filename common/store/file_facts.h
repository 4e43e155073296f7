/* common/store/file_facts.h - what a file has beside its bytes
 *
 * Raw files are given back with them.
 */
#ifndef ROLLCALL_STORE_FILE_FACTS_H
#define ROLLCALL_STORE_FILE_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define FILE_FACTS_MODE 0777            // bits that are kept: a file that runs
                                        // as its owner must not come back as
                                        // one of somebody else

struct file_facts {
    uint32_t mode;              // S_IFREG and these bits; 0: nothing is known,
                                // and all members are 0
    int64_t mtime_ns;           // since 1970; may be negative
    int64_t uid, gid;           // -1: not known
};

/* Those of a regular file, with its owner if 'owner'. */
struct file_facts file_facts_of (const struct stat *st, bool owner);

/* Whether the values are possible. */
bool file_facts_valid (const struct file_facts *f);

/* Give them to an open file, with the owner only if 'owner' and it is known.
 * Returns 0 or -errno, of the owner -EPERM for all but root.
 */
int file_facts_give (int fd, const struct file_facts *f, bool owner);

#endif
