/* node_agent/analyse/own_analysis.h - the offline analyses of the profilers
 *
 * torch_npu and MindSpore each have one, a function of Python with the name
 * "analyse", and each only for its own captures.
 */
#ifndef ROLLCALL_ANALYSE_OWN_ANALYSIS_H
#define ROLLCALL_ANALYSE_OWN_ANALYSIS_H

#include "base/err.h"

#include <stdint.h>

enum own_analysis {
    OWN_TORCH_NPU,
    OWN_MINDSPORE,
    OWN_ANALYSES,
    OWN_NONE = OWN_ANALYSES,    // nobody's here: that of msprof, for one
};

/* Its arguments; one that an analysis does not know is left out. */
struct own_settings {
    int64_t processes;          // max_process_number; 0: its own choice
    const char *export;         // export_type, "text", "db" or "text,db"; NULL
    const char *steps;          // step_list, as "3,5-7"; NULL: all
};

/* Of a capture whose framework is "ascend_pt", "ascend_ms", and so on. */
enum own_analysis own_analysis_of (const char *framework);

/* The module of Python: "torch_npu", "mindspore". */
const char *own_analysis_module (enum own_analysis own);

/* 0, or -EINVAL: the settings are not valid for any. */
int own_analysis_check (const struct own_settings *s, struct err *err);

/* A shell command that ends with 0 if it is installed ... */
const char *own_analysis_probe (enum own_analysis own);

/* ... and one that analyses the capture in its last argument.  The caller frees
 * it; NULL: no memory, or the settings are wrong.
 */
char *own_analysis_command (enum own_analysis own,
                            const struct own_settings *s);

#endif
