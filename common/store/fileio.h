/* common/store/fileio.h - files and directories, done in one way only
 *
 * A file is replaced by writing a temporary one beside it, fsync, rename,
 * fsync of the directory: readers see the old or the new one, and on failure
 * the old one stays.
 */
#ifndef ROLLCALL_STORE_FILEIO_H
#define ROLLCALL_STORE_FILEIO_H

#include "base/buf.h"
#include "base/err.h"

#include <dirent.h>
#include <sys/stat.h>

#define FILEIO_DIR_MODE 0750
#define FILEIO_FILE_MODE 0640

/* What stands behind a failure, 0 or -errno. */
enum fileio_trouble {
    FILEIO_LASTING,             // the file itself, or nothing
    FILEIO_DISK,                // what it is on, which may be better later
    FILEIO_SHORTAGE,            // want of descriptors or memory: no file at all
};

enum fileio_trouble fileio_trouble (int rc);

/* Open for reading relative to 'dirfd'.  Symbolic links are not followed and
 * only regular files are opened.  Returns the descriptor, or -ENOENT (absent;
 * 'err' untouched, so that asking is cheap), -ELOOP (a symbolic link),
 * -EINVAL (not a regular file), or what open(2) said.
 */
int fileio_open_at (int dirfd, const char *name, struct err *err);

/* Open a directory below 'dirfd', never through a symbolic link. */
int fileio_open_dir_at (int dirfd, const char *name, struct err *err);

/* The entries of the directory 'dirfd', which stays open; NULL with errno. */
DIR *fileio_list (int dirfd);

/* The next entry of a directory but "." and "..", or NULL at its end.  A
 * directory that cannot be read on is not at its end: *rc is then -errno (0
 * otherwise), and what was listed is not all.
 */
struct dirent *fileio_next_entry (DIR *dir, int *rc);

/* Append a whole file to 'out'.  -EFBIG if it is larger than 'out' may be;
 * otherwise as fileio_open_at.
 */
int fileio_read_at (int dirfd, const char *name, struct buf *out,
                    struct err *err);

/* Write all of it, over short writes and interruptions; 0 or -errno. */
int fileio_write_all (int fd, const void *data, size_t size);

/* The same of a text of several lines, for people: utf8_escape, UTF8_LINES. */
int fileio_write_shown (int fd, const char *text);
int fileio_pwrite_all (int fd, const void *data, size_t size, off_t offset);

/* Read exactly 'size' bytes at 'offset'; -ENODATA if the file is shorter. */
int fileio_pread_all (int fd, void *data, size_t size, off_t offset);

/* Whether 'name' is a regular file, and no link, with these bytes, at
 * most 128, at 'offset'.
 */
bool fileio_has_bytes (int dirfd, const char *name, off_t offset,
                       const void *bytes, size_t n);

/* close, of what may not be open (-1, or a negative errno). */
void fileio_close (int fd);

/* Make the directory and the ones above it; names that are new are durable, or
 * not there.
 */
int fileio_mkdirs (const char *path, mode_t mode, struct err *err);

/* fsync a directory, so that names made in it last. */
int fileio_sync_dir (const char *path, struct err *err);

/* rename, then fsync of the target's directory. */
int fileio_rename (const char *from, const char *to, struct err *err);

/* Replace 'path' by 'size' bytes of 'data'. */
int fileio_replace (const char *path, const void *data, size_t size,
                    mode_t mode, struct err *err);

/* Remove the temporary files of fileio_replace that processes which were killed
 * left of 'name' in a directory.  The caller makes sure that nobody replaces it
 * meanwhile.
 */
void fileio_forget_temps (int dirfd, const char *name);

/* Remove a directory and all below it; symbolic links are removed, not
 * followed, and what is mounted there stays (-EXDEV).  Missing is fine.
 */
int fileio_remove_tree (const char *path, struct err *err);

/* Make sure that descriptors 0, 1 and 2 are open (on /dev/null if they were
 * closed): else a database could become "standard output".  For main, first.
 */
void fileio_open_std (void);

/* "dir/name" into out; false if it does not fit. */
bool fileio_join (char *out, size_t size, const char *dir, const char *name);

/* Whether there is a 'dir/name'. */
bool fileio_has (const char *dir, const char *name);

/* The name of the shared or remote file system that holds 'path' ("nfs",
 * "lustre", ...), or NULL when it is local or cannot be told.  Locks and
 * memory-mapped journals are not safe there, and writing there stalls jobs.
 */
const char *fileio_remote_fs (const char *path);

/* As well of one that belongs to this machine ("ext4", "tmpfs", ...), whether or
 * not this machine exports it; NULL: another, or it cannot be told.
 */
const char *fileio_local_fs (const char *path);

#endif
