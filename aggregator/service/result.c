/* aggregator/service/result.c - how a run ended */
#include "service/result.h"

#include "json/json.h"
#include "store/fileio.h"

#include <sysexits.h>

static int roll_status (const struct result *r)
{
    if (r->error)
        return EX_CANTCREAT;
    if (!r->any_rows && !job_has_doubtful (r->job))
        return EX_DATAERR;
    return r->complete ? 0 : 1;
}

int result_write (const char *run_dir, const struct result *r, int *status,
                  struct err *err)
{
    const struct job_rank *failed = job_failed (r->job);
    struct json *j = json_object ();

    *status = roll_status (r);
    json_add_text (j, "job", r->job->id);
    json_add_int (j, "roll_status", *status);
    json_add_int (j, "command_status", failed ? failed->status : 0);
    json_add_text (j, "error", r->error);
    json_add_text (j, "out", r->out);
    json_add_text (j, "analysis_db", r->error ? NULL : r->path);
    json_add_nonempty (j, "kept_path", r->kept);
    json_add_nonempty (j, "newer_job", r->newer);
    if (r->results && !r->error)
        results_to_json (r->results, j);
    job_to_json (r->job, j);
    return json_replace (j, true, run_dir, RESULT_NAME, FILEIO_FILE_MODE, err);
}
