/* node_agent/identity/recall.c - what rollcall knew of a capture that it laid
 * somewhere
 */
#include "identity/recall.h"

#include "model/shipment.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The key of the host that its rows were read on, of the shipment beside it. */
static void ask_shipment (int beside, const char *name, struct recalled *ret)
{
    int fd = openat (beside, SHIPMENT_NAME, O_RDONLY | O_NONBLOCK | O_NOFOLLOW |
                                                O_CLOEXEC);
    struct byte_source from;
    struct capture c;
    struct stat st;

    if (fd < 0)
        return;
    capture_init (&c);
    if (fstat (fd, &st) == 0 && S_ISREG (st.st_mode)) {
        from = byte_source_of (fd, 0, (uint64_t)st.st_size);
        if (shipment_read_meta (&from, &c, NULL) == 0 &&
            strcmp (c.name, name) == 0)
            PRINT (ret->host_key, "%s", c.evidence.host_key);
    }
    capture_fini (&c);
    (void)close (fd);
}

static void take (struct recalled *ret, const struct job_mark *mark)
{
    if (*mark->job)
        PRINT (ret->job, "%s", mark->job);
    if (*mark->host)
        PRINT (ret->host, "%s", mark->host);
    if (mark->rank >= 0 && mark->rank < capture_world_max)
        ret->rank = mark->rank;
    // a world of one is that of any program without a launcher
    if (mark->world_size > 1 && mark->world_size <= capture_world_max)
        ret->world_size = mark->world_size;
}

void recall_capture (struct job_marks *m, int above, const char *name,
                     struct recalled *ret)
{
    int own = openat (above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW |
                                       O_CLOEXEC);
    struct job_mark mark;
    int rc = own < 0 ? -ENOENT : job_mark_read (own, &mark);

    *ret = (struct recalled){ .rank = CAPTURE_NO_RANK };
    if (rc == 0)
        take (ret, &mark);
    else if (rc == -EBADMSG)
        ret->broken = 1;
    ask_shipment (own < 0 ? above : own, name, ret);
    fileio_close (own);
    rc = job_marks_find (m, above, name, &mark);
    if (rc == 0)
        take (ret, &mark);
    if (above >= 0 && m->last[0].rc == -EBADMSG)
        ret->broken = 2;
    else if (rc == -EBADMSG)
        ret->broken = 3;
}

bool recall_broken (const struct recalled *r, const char *path,
                    struct err *ret)
{
    char at[PATH_MAX];

    if (r->broken == 0)
        return false;
    PRINT (at, "%s", path);
    for (unsigned i = 1; i < r->broken; i++) {
        char *slash = strrchr (at, '/');

        if (slash)
            *slash = '\0';
        else
            PRINT (at, "%s", *at ? "" : "..");
    }
    (void)err_set (ret, EBADMSG, "%s%s" JOB_MARK_NAME " is damaged: rank and "
                   "job of what it marks are those that captures show "
                   "themselves; remove it, or get them again with rollcall "
                   "archive get", at, *at ? "/" : "");
    return true;
}

void recall_fill (const struct recalled *r, struct capture *c)
{
    struct evidence *e = &c->evidence;

    if (c->rank == CAPTURE_NO_RANK)
        c->rank = r->rank;
    if (!*e->job)
        PRINT (e->job, "%s", r->job);
    if (!*e->host_key)
        PRINT (e->host_key, "%s", r->host_key);
}
