/* node_agent/extract/text/read_minddata.c - minddata_pipeline_summary_<N>.json
 *
 * What MindSpore says of the pipeline that feeds the training: lists with a
 * value of each of its ops, and what it advises.  See doc/formats.md, "Metadata
 * as rows".
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
        *size = 0;              // not known, and small beside the others
    return there;
}

/* info_read tells of what cannot be read (Python writes NaN, which is no JSON):
 * a reason, but the capture is complete, since no table lacks anything.
 */
void read_minddata (struct source *src, unsigned want, struct verdict *v,
                    struct err *err)
{
    struct err why = { "" };

    capture_facts_each_file (src, read_one, src);
    verdict_for_tables (v, want, READING_WHOLE, &why, err);
}
