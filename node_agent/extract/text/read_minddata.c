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

bool is_minddata (const char *path)
{
    const char *slash = strrchr (path, '/');

    return slash &&
           fnmatch ("minddata_pipeline_summary_*.json", slash + 1, 0) == 0;
}

/* info_read tells of what cannot be read (Python writes NaN, which is no JSON):
 * a reason, but the capture is complete, since no table lacks anything.
 */
enum reading read_minddata (struct source *src, const char *path,
                            struct err *err)
{
    bool damaged = src->damaged;
    struct json *j = info_read (src, src->dir, path, strrchr (path, '/') + 1);

    (void)err;
    src->damaged = damaged;
    metadata_members (src, "minddata", j);
    json_free (j);
    return READING_WHOLE;
}
