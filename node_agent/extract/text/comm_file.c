/* node_agent/extract/text/comm_file.c - walk communication.json and
 * communication_matrix.json
 *
 * This folder: CSV and JSON files that contain our tables.
 */
#include "extract/text/comm_file.h"

#include "extract/input/capture_file.h"
#include "extract/rows/comm_rows.h"

#include <errno.h>
#include <string.h>

void comm_file_retype (struct comm_file *f, bool p2p)
{
    const char *type = comm_type (p2p);

    if (f->rep_type.s != type)  // it differs from that of the last op
        batch_repeat_set (&f->rep_type, type, strlen (type));
}

bool comm_file_key (struct comm_file *f, char *out, size_t max,
                    const char *what)
{
    if (f->s.key_size >= max)
        return scan_fail (&f->s, "the name of %s has %zu bytes", what,
                          f->s.key_size);
    memcpy (out, f->s.key, f->s.key_size);
    out[f->s.key_size] = '\0';
    return true;
}

/* Hash the key twice, eight bytes at a time, so that no two keys of a file
 * collide by chance.
 */
static struct comm_seen hash_key (const struct scan *s, uint32_t of)
{
    uint64_t a = s->key_size + (uint64_t)of * UINT64_C (0x9e3779b97f4a7c15);
    uint64_t b = ~a, word;
    size_t i;

    for (i = 0; i + 8 <= s->key_size; i += 8) {
        memcpy (&word, s->key + i, 8);
        a = (a ^ word) * UINT64_C (0xbf58476d1ce4e5b9);
        a ^= a >> 29;
        b = (b + word) * UINT64_C (0x94d049bb133111eb);
        b ^= b >> 31;
    }
    for (word = 0; i < s->key_size; i++)
        word = word << 8 | (unsigned char)s->key[i];
    return (struct comm_seen){ { (a ^ word) * UINT64_C (0xbf58476d1ce4e5b9),
                                 (b + word) * UINT64_C (0x94d049bb133111eb) } };
}

bool comm_file_once (struct comm_file *f, struct map *seen, uint32_t of)
{
    struct comm_seen key;
    bool is_new = true;

    if (seen->n >= COMM_ONCE_MAX)
        return true;
    key = hash_key (&f->s, of);
    if (!map_put (seen, &key, &is_new)) {
        f->src->stopped = err_set (f->err, ENOMEM, "no memory for keys");
        return false;
    }
    return is_new || scan_fail (&f->s, "\"%.*s\" occurs twice",
                                f->s.key_size < 80 ? (int)f->s.key_size : 80,
                                f->s.key);
}

/* Read a value into rows, unless it is a sum. */
static bool walk_value (struct comm_file *f, const struct comm_reader *r)
{
    return (comm_op_is_total (f->s.key, f->s.key_size) ||
            comm_file_once (f, &f->keys, 0)) && r->value (r->arg);
}

static bool walk_category (struct comm_file *f, const struct comm_reader *r)
{
    if (!comm_file_key (f, f->type, sizeof (f->type), "a category") ||
        !comm_file_once (f, &f->steps, f->nsteps) ||
        !scan_object (&f->s))
        return false;
    batch_repeat_set (&f->rep_type, f->type, strlen (f->type));
    map_clear (&f->keys);
    for (bool first = true; scan_member (&f->s, &first);) {
        if (!walk_value (f, r))
            return false;
    }
    return !f->s.failed && (!r->category_end || r->category_end (r->arg));
}

/* Walk a step.  The profiler writes both categories, even if they are empty. */
static bool walk_step (struct comm_file *f, const struct comm_reader *r)
{
    bool p2p = false, collective = false;

    if (!source_wants (f->src, f->tables, f->s.key, f->s.key_size))
        return scan_skip (&f->s);
    if (!comm_file_key (f, f->step, sizeof (f->step), "a step") ||
        !comm_file_once (f, &f->steps, 0) ||
        !source_note_step (f->src, f->step, strlen (f->step), f->err) ||
        !scan_object (&f->s))
        return false;
    batch_repeat_set (&f->rep_step, f->step, strlen (f->step));
    f->nsteps++;
    for (bool first = true; scan_member (&f->s, &first);) {
        if (!walk_category (f, r))
            return false;
        p2p = p2p || strcmp (f->type, "p2p") == 0;
        collective = collective || strcmp (f->type, "collective") == 0;
    }
    if (!f->s.failed && !(p2p && collective))
        return scan_fail (&f->s, "step \"%.40s\" has no \"%s\"", f->step,
                          p2p ? "collective" : "p2p");
    return !f->s.failed;
}

/* Walk a file without steps: its ops are of one step without a name. */
static void walk_flat (struct comm_file *f, const struct comm_reader *r)
{
    size_t n = strlen (COMM_NO_STEP);

    if (!source_wants (f->src, f->tables, COMM_NO_STEP, n)) {
        (void)scan_skip (&f->s);
        scan_end (&f->s);
        return;
    }
    batch_repeat_set (&f->rep_step, COMM_NO_STEP, n);
    if (!source_note_step (f->src, COMM_NO_STEP, n, f->err) ||
        !scan_object (&f->s))
        return;
    map_clear (&f->keys);
    for (bool first = true; scan_member (&f->s, &first);) {
        if (!walk_value (f, r))
            return;
    }
    if (!f->s.failed && (!r->category_end || r->category_end (r->arg)))
        scan_end (&f->s);
}

static void comm_file_walk (struct comm_file *f, const struct comm_reader *r)
{
    bool any = false;

    if (f->flat) {
        walk_flat (f, r);
        return;
    }
    if (!scan_object (&f->s))
        return;
    for (bool first = true; scan_member (&f->s, &first);) {
        if (!walk_step (f, r))
            return;
        any = true;
    }
    if (any || f->s.failed)
        scan_end (&f->s);
    else
        (void)scan_fail (&f->s, "it has no step");
}

enum reading comm_file_read (struct comm_file *f, struct source *src,
                             const char *name, const struct comm_reader *r,
                             struct err *err)
{
    struct capture_file file;
    enum reading how = capture_file_open (&file, src, source_comm_dir (src),
                                          name,
                                          err);

    if (how != READING_WHOLE)
        return how;
    f->steps = f->keys = (struct map)COMM_SEEN;
    f->flat = src->form == FORM_MSPROF;
    f->src = src;
    f->err = err;
    if (scan_init (&f->s, capture_file_read, &file) < 0) {
        src->stopped = err_set (err, ENOMEM, "no memory to read %s", name);
        how = READING_STOPPED;
    } else {
        comm_file_walk (f, r);
        if (!src->stopped)
            (void)r->flush (r->arg);
        how = capture_file_verdict (&file, &f->s, err);
    }
    scan_fini (&f->s);
    map_fini (&f->steps);
    map_fini (&f->keys);
    capture_file_close (&file);
    return how;
}
