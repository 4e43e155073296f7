/* common/store/fileio.h - read, replace and remove files
 *
 * A file is replaced by writing a temporary one beside it, fsync, rename, and
 * fsync of the directory.  Readers see the old or the new file, and after a
 * failure the old one remains.
 */
#ifndef ROLLCALL_STORE_FILEIO_H
#define ROLLCALL_STORE_FILEIO_H

#include "base/buf.h"
#include "base/err.h"

#include <dirent.h>
#include <sys/stat.h>

#define FILEIO_DIR_MODE 0750
#define FILEIO_FILE_MODE 0640

/* The kind of a failure, from 0 or -errno. */
enum fileio_trouble {
    FILEIO_LASTING,             // no failure, or one of the file itself
    FILEIO_DISK,                // one of the disk, which may pass
    FILEIO_SHORTAGE,            // lack of descriptors or memory
};

enum fileio_trouble fileio_trouble (int rc);

/* Open a regular file for reading, relative to 'dirfd', without following a
 * symbolic link.  Returns the descriptor, which the caller closes; -ENOENT: it
 * is absent (cheap: 'err' is unchanged); -ELOOP: it is a symbolic link;
 * -EINVAL: it is no regular file; or an error of open(2).
 */
int fileio_open_at (int dirfd, const char *name, struct err *err);

/* Open a directory in 'dirfd' without following a symbolic link.  Returns the
 * descriptor, which the caller closes, or -errno.
 */
int fileio_open_dir_at (int dirfd, const char *name, struct err *err);

/* The entries of the directory 'name' below 'dirfd'; NULL with errno. */
DIR *fileio_list (int dirfd, const char *name);

/* The next entry of a directory but "." and "..", or NULL at its end.  A
 * directory that cannot be read on is not at its end: *rc is then -errno (0
 * otherwise), and what was listed is not all.
 */
struct dirent *fileio_next_entry (DIR *dir, int *rc);

/* Append a whole file to 'out'. -EFBIG: it exceeds the maximum of 'out';
 * otherwise as fileio_open_at.
 */
int fileio_read_at (int dirfd, const char *name, struct buf *out,
                    struct err *err);

/* Write all bytes, despite short writes and interruptions.  Returns 0 or
 * -errno.
 */
int fileio_write_all (int fd, const void *data, size_t size);

/* Write all bytes, set the mode, fsync and close. */
int fileio_write_file (int fd, const void *data, size_t size, mode_t mode);

/* Write a text of several lines for people, with utf8_escape and UTF8_LINES. */
int fileio_write_shown (int fd, const char *text);
int fileio_pwrite_all (int fd, const void *data, size_t size, off_t offset);

/* Read exactly 'size' bytes at 'offset'. -ENODATA: the file is shorter. */
int fileio_pread_all (int fd, void *data, size_t size, off_t offset);

/* Whether 'name' is a regular file, and no link, with these bytes, at
 * most 128, at 'offset'.
 */
bool fileio_has_bytes (int dirfd, const char *name, off_t offset,
                       const void *bytes, size_t n);

/* The same: 1, 0, or the system's error if that cannot be read. */
int fileio_look_for_bytes (int dirfd, const char *name, off_t offset,
                           const void *bytes, size_t n);

/* close, of what may not be open (-1, or a negative errno); closedir, of what
 * may be NULL.
 */
void fileio_close (int fd);
void fileio_close_dir (DIR *dir);

/* Close what was written with the outcome 'rc': 'rc', or -errno if it is 0 and
 * the close fails.  'fd' may be negative.
 */
int fileio_close_written (int fd, int rc);

/* Make the directory and the ones above it; names that are new are durable, or
 * not there.
 */
int fileio_mkdirs (const char *path, mode_t mode, struct err *err);

/* fsync a directory, so that new names in it are durable. */
int fileio_sync_dir (const char *path, struct err *err);

/* rename(2), then fsync of the directory of the target. */
int fileio_rename (const char *from, const char *to, struct err *err);

/* Replace the file 'path' by 'size' bytes of 'data'. */
int fileio_replace (const char *path, const void *data, size_t size,
                    mode_t mode, struct err *err);

/* Remove temporary files for 'name' (NAME.tmp.DIGITS) that killed processes left
 * in a directory.  The caller ensures that no fileio_replace of 'name' is under
 * way; fileio_create_temp may be.
 */
void fileio_forget_temps (int dirfd, const char *name);

/* Create a temporary file for 'name', after those that killed processes left are
 * removed.  Its name goes to 'temp'.  Returns a descriptor, which the caller closes
 * and which holds the file meanwhile; -ENAMETOOLONG; -EAGAIN, -EEXIST: other
 * processes removed or have all of its names; or an error of open(2).
 */
int fileio_create_temp (int dirfd, const char *name, char temp[NAME_MAX + 1]);

/* The directory for large temporary files, as SQLite chooses it: $TMPDIR, /var/tmp
 * or /tmp.
 */
const char *fileio_temp_dir (void);

/* Remove a directory and everything below it.  Symbolic links are removed, not
 * followed; mounted file systems remain (-EXDEV).  A missing directory is no
 * error.
 */
int fileio_remove_tree (const char *path, struct err *err);

/* Open descriptors 0, 1 and 2 on /dev/null if they are closed: otherwise a
 * database could become the standard output.  Call it first in main.
 */
void fileio_open_std (void);

/* Write "dir/name" to 'out'.  False: it does not fit. */
bool fileio_join (char *out, size_t size, const char *dir, const char *name);

/* Whether 'dir/name' exists. */
bool fileio_has (const char *dir, const char *name);

/* Whether the file 'path' has no other name: its bytes go with it. */
bool fileio_is_last_link (const char *path);

/* The type of the shared or remote file system of 'path' ("nfs", "lustre",
 * ...); NULL if it is local or unknown.  Locks and memory-mapped journals are
 * not safe there, and writing there stalls jobs.
 */
const char *fileio_remote_fs (const char *path);

/* The type of the file system of 'path' if it belongs to this machine ("ext4",
 * "tmpfs", ...), even if the machine exports it; NULL if it does not, or if it
 * is unknown.
 */
const char *fileio_local_fs (const char *path);

#endif
