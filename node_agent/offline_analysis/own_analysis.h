/* node_agent/offline_analysis/own_analysis.h - the offline analyses of the profilers
 *
 * torch_npu and MindSpore each have one, a Python function "analyse", and each
 * reads only its own captures.
 */
#ifndef ROLLCALL_OFFLINE_ANALYSIS_OWN_ANALYSIS_H
#define ROLLCALL_OFFLINE_ANALYSIS_OWN_ANALYSIS_H

#include "base/err.h"

#include <stdint.h>

enum own_analysis {
    OWN_TORCH_NPU,
    OWN_MINDSPORE,
    OWN_ANALYSES,
    OWN_NONE = OWN_ANALYSES,    // no analysis is known, as for msprof
};

/* Arguments of an analysis.  One that an analysis does not have is left out. */
struct own_settings {
    int64_t processes;          // its own default
    const char *export;         // export_type: "text", "db", "text,db"; NULL:
                                // not set
    const char *steps;          // step_list, as "3,5-7"; NULL: all
};

/* The analysis for captures of a framework: "ascend_pt", "ascend_ms", ... */
enum own_analysis own_analysis_of (const char *framework);

/* Its Python module: "torch_npu", "mindspore". */
const char *own_analysis_module (enum own_analysis own);

/* Check the settings. -EINVAL: no analysis would accept them. */
int own_analysis_check (const struct own_settings *s, struct err *err);

/* A shell command that exits with 0 if the analysis is installed ... */
const char *own_analysis_probe (enum own_analysis own);

/* ... and one that analyses the capture in its last argument.  The caller frees
 * it.  NULL: no memory, or the settings are invalid.
 */
char *own_analysis_command (enum own_analysis own,
                            const struct own_settings *s);

#endif
