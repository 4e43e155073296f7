/* aggregator/uploads/early_sums.c - what the upload of a segment needs to hash, while
 * it fills
 */
#include "uploads/early_sums.h"

#include <fcntl.h>
#include <unistd.h>

size_t early_sums_due (const struct early_sums *e,
                       const struct store_extent *now)
{
    bool same = e->segment == now->segment;
    size_t there = (size_t)(now->end / OBJECT_PART_BYTES);
    size_t have = same ? object_sums_parts (e->sums) : 0;
    bool nearly_full = now->end + OBJECT_PART_BYTES > STORE_SEGMENT_MAX;

    if ((same && !e->sums) || there <= have)
        return 0;
    if (there - have >= OBJECT_SUMS_MAX)
        return OBJECT_SUMS_MAX;
    return nearly_full ? there - have : 0;
}

size_t early_sums_add (struct early_sums *e, const char *root,
                       const struct store_extent *now)
{
    size_t n = early_sums_due (e, now);
    char path[PATH_MAX];
    int fd;

    if (e->segment != now->segment) {
        early_sums_forget (e);
        *e = (struct early_sums){ now->segment, object_sums_create () };
    }
    store_segment_path (root, now->segment, path);
    fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (e->sums && (fd < 0 || object_sums_add (e->sums, fd, n, NULL) < 0)) {
        object_sums_destroy (e->sums);
        e->sums = NULL;
    }
    if (fd >= 0)
        (void)close (fd);
    return e->sums ? n : 0;
}

const struct object_sums *early_sums_of (const struct early_sums *e,
                                         int64_t segment)
{
    return e->segment == segment ? e->sums : NULL;
}

void early_sums_forget (struct early_sums *e)
{
    object_sums_destroy (e->sums);
    *e = (struct early_sums){ .segment = 0 };
}
