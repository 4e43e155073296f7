/* aggregator/builder/results.h - the files of a result
 *
 * Which files are wanted, and how to make them from a finished analysis.db.
 */
#ifndef ROLLCALL_BUILDER_RESULTS_H
#define ROLLCALL_BUILDER_RESULTS_H

#include "json/json.h"
#include "publish/publish.h"

#include <stdatomic.h>
#include <stdint.h>

/* The set of wanted files.  analysis.db is always made, because all others are
 * made from it.
 */
enum results_wanted {
    RESULTS_ANALYSIS_DB = 1,
    RESULTS_CLUSTER_DB = 2,
    RESULTS_TEXT = 4,           // four files, made from cluster_analysis.db
    RESULTS_PAGE = 8,           // report.html
};

#define RESULTS_DEFAULT \
    (RESULTS_ANALYSIS_DB | RESULTS_CLUSTER_DB | RESULTS_PAGE)
#define RESULTS_FILES_MAX 8     // beside analysis.db

/* The option --only, for a struct with this member. */
#define RESULTS_OPTION(type) \
    { "only", 0, OPTION_TEXT, offsetof (type, only), "NAME,...", NULL, \
      NULL, 0, 0, \
      "Make only these results: analysis.db, cluster_analysis.db, " \
      "report.html, and text (the four text files of cluster tools, which " \
      "are not made unless they are named). analysis.db is always " \
      "made, since the others are made from it, and cluster_analysis.db with " \
      "text.", NULL }

/* Parse a list of names, "analysis.db,cluster_analysis.db"; NULL: the default.
 * -EINVAL if a name is unknown; 'err' has it.
 */
int results_parse (const char *list, unsigned *ret, struct err *err);

struct result_file {
    char path[PATH_MAX];
    char kept[PATH_MAX];        // path of the replaced file, or ""
};

/* The files made beside analysis.db. */
struct results {
    struct result_file files[RESULTS_FILES_MAX];
    size_t n;
    char note[256];             // what could not be included, or ""
};

/* The name of this phase, for progress messages. */
#define RESULTS_PHASE "making the files beside " BUILD_DB_NAME

/* Make and publish the wanted files beside the analysis.db in 'out', in the
 * order of the set.  With more than one thread, the page is written at the same
 * time.  'cancel' may be NULL.  Errors as cluster_make; 'ret' then has the
 * files that were finished.
 */
int results_make (unsigned wanted, struct publish *out, unsigned threads,
                  const atomic_bool *cancel, struct results *ret,
                  struct err *err);

/* Convert to and from the members "files", "kept_files" and "files_note". */
void results_to_json (const struct results *r, struct json *j);
void results_from_json (struct results *r, const struct json *j);

#endif
