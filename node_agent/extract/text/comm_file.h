/* node_agent/extract/text/comm_file.h - walk communication.json and
 * communication_matrix.json
 *
 * Private to this folder.  Both files have the form { step: { category: { key:
 * value } } }, or { key: value } in captures of msprof.  The walk leaves the
 * values to the reader of the file.
 */
#ifndef ROLLCALL_EXTRACT_TEXT_COMM_FILE_H
#define ROLLCALL_EXTRACT_TEXT_COMM_FILE_H

#include "base/map.h"
#include "extract/rows/comm_tasks.h"
#include "json/scan.h"

#define COMM_ONCE_MAX 65536u    // keys of an object that are checked for
                                // duplicates: about 6 MB of memory

/* The hash of a key that was read. */
struct comm_seen {
    uint64_t hash[2];
};

#define COMM_SEEN MAP (struct comm_seen, 2)

struct comm_file {
    struct scan s;
    struct source *src;
    struct err *err;
    char step[COMM_NAME_MAX], type[64];         // the position of the walk
    struct batch_repeat rep_step, rep_type;
    bool flat;                  // no steps and no categories
    unsigned tables;            // tables that are read: 1 << table_id
    struct map steps, keys;     // seen so far; the keys are of this category
    uint32_t nsteps;
};

/* Callbacks of the reader.  False stops the walk: the scanner has failed, or
 * the source has stopped.
 */
struct comm_reader {
    bool (*value) (void *arg);          // reads the value of f->s.key
    bool (*category_end) (void *arg);   // may be NULL
    bool (*flush) (void *arg);          // sends the last rows to the sink
    void *arg;
};

/* Give the following rows this type, whatever their category is. */
void comm_file_retype (struct comm_file *f, bool p2p);

/* Walk the file 'name' in source_comm_dir. */
enum reading comm_file_read (struct comm_file *f, struct source *src,
                             const char *name, const struct comm_reader *r,
                             struct err *err);

/* Check that the current key is new in its object; otherwise fail, since its
 * rows would count twice.  'seen' (a COMM_SEEN) has the keys of one or more
 * objects, which 'of' tells apart.
 */
bool comm_file_once (struct comm_file *f, struct map *seen, uint32_t of);

/* Copy the current key.  It fails if the key is too long; 'what' is its name in
 * the message.
 */
bool comm_file_key (struct comm_file *f, char *out, size_t max,
                    const char *what);

#endif
