/* aggregator/derive/derive.h - what may be said of deriving */
#ifndef ROLLCALL_DERIVE_DERIVE_H
#define ROLLCALL_DERIVE_DERIVE_H

#include "derive/findings.h"
#include "derive/topology.h"

#include <stdbool.h>

/* NULL in it, or instead of it: defaults, and no topology. */
struct derive_options {
    const struct findings_options *findings;
    const struct topology *topology;
    bool all_steps;             // means and findings are of those, too, that
                                // profiling itself made longer
};

#endif
