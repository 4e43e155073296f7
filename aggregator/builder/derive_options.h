/* aggregator/builder/derive_options.h - options for derived tables */
#ifndef ROLLCALL_BUILDER_DERIVE_OPTIONS_H
#define ROLLCALL_BUILDER_DERIVE_OPTIONS_H

#include "builder/topology.h"
#include "findings/findings.h"

#include <stdbool.h>

/* If a member or the whole is NULL: defaults, and no topology. */
struct derive_options {
    const struct findings_options *findings;
    const struct topology *topology;
    bool all_steps;             // means and findings include steps that
                                // profiling itself made longer
};

#endif
