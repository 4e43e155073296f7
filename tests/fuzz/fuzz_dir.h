/* tests/fuzz/fuzz_dir.h - a directory for targets that need files */
#ifndef ROLLCALL_FUZZ_DIR_H
#define ROLLCALL_FUZZ_DIR_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* A directory below $TMPDIR, the same for all inputs of a process and removed
 * at its end.
 */
const char *fuzz_dir (void);

/* All of these abort() if they fail; names are within fuzz_dir (). */
void fuzz_mkdir (const char *name);
void fuzz_remove (const char *name);            // with all below it
void fuzz_write (const char *name, const void *data, size_t size);
uint8_t *fuzz_read (const char *name, size_t *size);    // to be freed

/* "fuzz_dir ()/NAME" */
const char *fuzz_path (char out[PATH_MAX], const char *name);

#endif
