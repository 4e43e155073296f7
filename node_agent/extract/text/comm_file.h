/* node_agent/extract/text/comm_file.h - the shape that communication.json and
 * communication_matrix.json share: { step: { category: { key: value } } }, or
 * { key: value } in captures of msprof
 *
 * Private to this folder.  Walks the document and leaves the values to the
 * reader of the file.
 */
#ifndef ROLLCALL_EXTRACT_TEXT_COMM_FILE_H
#define ROLLCALL_EXTRACT_TEXT_COMM_FILE_H

#include "base/map.h"
#include "extract/rows/comm_tasks.h"
#include "json/scan.h"

#define COMM_ONCE_MAX 65536u    // keys of an object that are told from each
                                // other: some 6 MB of memory

/* A key that was read. */
struct comm_seen {
    uint64_t hash[2];
};

#define COMM_SEEN MAP (struct comm_seen, 2)

struct comm_file {
    struct scan s;
    struct source *src;
    struct err *err;
    char step[COMM_NAME_MAX], type[64];         // where the walk is
    struct batch_repeat rep_step, rep_type;
    bool flat;                  // no steps and no categories
    unsigned tables;            // that are read of it: 1 << table_id
    struct map steps, keys;     // that were read; of this category
    uint32_t nsteps;
};

/* What the reader does; false stops the walk (the scanner has failed, or the
 * source has stopped).
 */
struct comm_reader {
    bool (*value) (void *arg);          // read it; f->s.key is its key
    bool (*category_end) (void *arg);   // may be NULL
    bool (*flush) (void *arg);          // give the last rows to the sink
    void *arg;
};

/* Give rows from now on this type, whatever category they are in. */
void comm_file_retype (struct comm_file *f, bool p2p);

/* Walk the file 'name' of source_comm_dir. */
enum reading comm_file_read (struct comm_file *f, struct source *src,
                             const char *name, const struct comm_reader *r,
                             struct err *err);

/* Whether the current key has not been in this object before, of which 'seen'
 * (a COMM_SEEN) has the keys, and 'of' tells it from others in there; fails if it has: rows
 * would count twice.
 */
bool comm_file_once (struct comm_file *f, struct map *seen, uint32_t of);

/* The current key as a string; fails when it is too long.  'what' names it. */
bool comm_file_key (struct comm_file *f, char *out, size_t max,
                    const char *what);

#endif
