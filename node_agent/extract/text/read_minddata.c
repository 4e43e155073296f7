/* node_agent/extract/text/read_minddata.c - read
 * minddata_pipeline_summary_<N>.json
 *
 * MindSpore describes the pipeline of training data: lists with a value for
 * each of its ops, and advice.  See doc/formats.md, "Metadata as rows".
 */
#include "extract/sink/capture_facts.h"
#include "extract/text/read_text.h"
#include "identity/info_file.h"
#include "identity/metadata_info.h"

#include <fnmatch.h>
#include <string.h>

static bool is_summary (const char *path)
{
    const char *slash = strrchr (path, '/');

    return slash &&
           fnmatch ("minddata_pipeline_summary_*.json", slash + 1, 0) == 0;
}

static bool read_one (void *arg, const char *path, bool *read)
{
    struct source *src = arg;
    bool damaged = src->damaged;
    struct json *j;

    if (!is_summary (path))
        return true;
    *read = true;
    j = info_read (src, src->dir, path, strrchr (path, '/') + 1);
    src->damaged = damaged;
    metadata_members (src, "minddata", j);
    json_free (j);
    return true;
}

static bool is_one (void *arg, const char *path, bool *read)
{
    (void)read;
    *(bool *)arg = is_summary (path);
    return !is_summary (path);
}

bool minddata_is_there (const struct source *src, uint64_t *size)
{
    bool there = false;

    capture_facts_each_file (src, is_one, &there);
    if (size)
        *size = 0;              // unknown, but small compared with others
    return there;
}

/* info_read reports what cannot be read (Python writes NaN, which is no JSON).
 * That is a reason, but the capture stays complete, since no table lacks
 * anything.
 */
void read_minddata (struct source *src, unsigned want, struct verdict *v,
                    struct err *err)
{
    struct err why = { "" };

    capture_facts_each_file (src, read_one, src);
    verdict_for_tables (v, want, READING_WHOLE, &why, err);
}
