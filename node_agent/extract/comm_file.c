/* node_agent/extract/comm_file.c - { step: { category: { key: value } } } */
#include "extract/comm_file.h"

#include "extract/watched.h"

#include <errno.h>

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

static bool walk_category (struct comm_file *f, const struct comm_reader *r)
{
    if (!comm_file_key (f, f->type, sizeof (f->type), "a category") ||
        !scan_object (&f->s))
        return false;
    batch_repeat_set (&f->rep_type, f->type, strlen (f->type));
    for (bool first = true; scan_member (&f->s, &first);) {
        if (!r->value (r->arg))
            return false;
    }
    return !f->s.failed && (!r->category_end || r->category_end (r->arg));
}

static bool walk_step (struct comm_file *f, const struct comm_reader *r)
{
    if (!steps_wanted (f->src->steps, f->s.key, f->s.key_size))
        return scan_skip (&f->s);
    if (!comm_file_key (f, f->step, sizeof (f->step), "a step") ||
        !source_note_step (f->src, f->step, strlen (f->step), f->err) ||
        !scan_object (&f->s))
        return false;
    batch_repeat_set (&f->rep_step, f->step, strlen (f->step));
    for (bool first = true; scan_member (&f->s, &first);) {
        if (!walk_category (f, r))
            return false;
    }
    return !f->s.failed;
}

static void walk (struct comm_file *f, const struct comm_reader *r)
{
    if (!scan_object (&f->s))
        return;
    for (bool first = true; scan_member (&f->s, &first);) {
        if (!walk_step (f, r))
            return;
    }
    scan_end (&f->s);
}

enum reading comm_file_read (struct comm_file *f, struct source *src,
                             const char *name, const struct comm_reader *r,
                             struct err *err)
{
    struct watched file;
    enum reading how = watched_open (&file, src->out, name, err);

    if (how != READING_WHOLE)
        return how;
    f->src = src;
    f->err = err;
    if (scan_init (&f->s, scan_read_fd, &file.fd) < 0) {
        src->stopped = err_set (err, ENOMEM, "no memory to read %s", name);
        how = READING_STOPPED;
    } else {
        walk (f, r);
        if (!src->stopped)
            (void)r->flush (r->arg);
        how = watched_verdict (&file, src, &f->s, err);
    }
    scan_fini (&f->s);
    watched_close (&file);
    return how;
}
